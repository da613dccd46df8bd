// Real profiles of weft: `tailor report --html` opens from disk with the numbers of `tailor report --json`, and
// `tailor web` serves the same page.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch, missing, open } from "./browser.mjs";
import { expect, finish, near, skip, test } from "./check.mjs";

const bin = join(process.env.TAILOR_BUILD ?? "build", "bin");
if (missing()) skip(missing());
if (!existsSync(join(bin, "tailor")) || !existsSync(join(bin, "weft"))) skip(`no tailor and weft in ${bin}`);
const folder = mkdtempSync(join(tmpdir(), "tailor-real-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const run = (name, ...args) => execFileSync(join(bin, name), args, { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, NO_COLOR: "1" } });
const profile = join(folder, "q3.tailor");
const html = join(folder, "q3.html");
run("weft", "load-tpch", "--sf", "0.01");
try {
  run("tailor", "record", "-o", profile, "--", join(bin, "weft"), "--sf", "0.01", "--threads", "2", "--repeat", "60", "--quiet", "--query", "tpch-3");
} catch (error) {
  skip(`tailor record does not work here: ${String(error.stderr).trim().split("\n").pop()}`);
}
run("tailor", "report", profile, "--html", html);
const report = JSON.parse(run("tailor", "report", profile, "--of", "everything", "--json"));
const browser = await launch();

const shares = (page) => page.evaluate(() => [...document.querySelectorAll(".node")].map((node) => [Number(node.id.replace("plan-node-", "")), node.querySelector(".share").textContent]));
const percent = (share) => { const value = share * 100; return value === 0 ? "0 %" : value < 0.05 ? "< 0.1 %" : `${value >= 99.95 ? value.toFixed(0) : value.toFixed(1)} %`; };
// The last digit may differ where a share lies between two.
const same = (shown, share) => shown === percent(share) || Math.abs(Number.parseFloat(shown.replace("< ", "")) - share * 100) <= 0.1;

test("the file holds the report's numbers, opens from disk, and asks for nothing", async () => {
  const page = await open(browser, pathToFileURL(html).href);
  await page.waitForSelector(".node");
  const shown = new Map(await shares(page));
  const plan = report.plans[0];
  expect(shown.size === plan.operators.length, `${shown.size} of ${plan.operators.length} operators`);
  for (const row of plan.operators) expect(same(shown.get(row.id), row.share), `${row.name}: ${shown.get(row.id)} for ${row.share}`);
  expect(page.asked.filter((url) => !url.startsWith("data:")).length === 1, page.asked.join(" "));
  for (const tab of ["code", "memory", "threads", "iterations", "about"]) {
    await page.locator(`#tab-${tab}`).click();
    await page.waitForSelector("#details .card");
  }
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
});

test("the samples in the file add up to the report", () => {
  const text = readFileSync(html, "utf8");
  const [, json] = /<script type="application\/json" id="tailor-bundle">(.*?)<\/script>/s.exec(text);
  const bundle = JSON.parse(json);
  const samples = bundle.responses[`executions/${bundle.id}/samples`];
  const position = samples.sources.findIndex((source) => source.name === report.source.name);
  let weight = 0;
  samples.cell.forEach((cell, i) => { if (samples.cells[cell].source === position) weight += samples.weight[i]; });
  near(weight, report.weight, "weight");
});

test("tailor web serves the same page from the same file", async () => {
  const server = spawn(join(bin, "tailor"), ["web", profile, "--no-browser"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const link = await new Promise((found, lost) => {
      let said = "";
      server.stdout.on("data", (data) => { said += data; const at = /http:\S+/.exec(said); if (at) found(at[0]); });
      server.on("exit", () => lost(new Error(`tailor web ended: ${said}`)));
    });
    const page = await open(browser, link);
    await page.waitForSelector("section[aria-label=Executions] tbody a");
    await page.evaluate(() => { location.hash = "#/execution/all"; });
    await page.waitForSelector(".node");
    const shown = new Map(await shares(page));
    for (const row of report.plans[0].operators) expect(same(shown.get(row.id), row.share), `${row.name}: ${shown.get(row.id)} for ${row.share}`);
    // 404 is the answer of a view that has nothing to show, and the browser says so.
    const wrong = page.wrong.filter((each) => !each.includes("404"));
    expect(wrong.length === 0, wrong.join("; "));
    await page.close();
  } finally {
    server.kill("SIGTERM");
  }
});

const code = await finish();
await browser.close();
process.exit(code);
