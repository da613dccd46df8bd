// A real tailord that weft runs under: the page asks for a token, follows what happens without being loaded again, shows the
// numbers of `tailor report`, and axe finds nothing serious in it.
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { axeSource, launch, missing, open } from "./browser.mjs";
import { expect, finish, samplingDenied, skip, test } from "./check.mjs";

const bin = join(process.env.TAILOR_BUILD ?? "build", "bin");
if (missing()) skip(missing());
if (samplingDenied()) skip(samplingDenied());
for (const name of ["tailord", "tailor", "weft"]) if (!existsSync(join(bin, name))) skip(`no ${name} in ${bin}`);
const folder = mkdtempSync(join(tmpdir(), "tailor-live-"));
const env = { ...process.env, NO_COLOR: "1", TAILOR_SOCKET: join(folder, "agent.sock"), TAILOR_CONTROL: join(folder, "control.sock"), TAILOR_STORE: join(folder, "store") };
const run = (name, ...args) => execFileSync(join(bin, name), args, { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"], env });
const weft = (query) => run("weft", "--sf", "0.01", "--threads", "2", "--repeat", "1000", "--quiet", "--query", query);
run("weft", "load-tpch", "--sf", "0.01");

const port = await new Promise((found) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const { port } = probe.address();
    probe.close(() => found(port));
  });
});
const token = "a token of the test";
writeFileSync(join(folder, "tokens.toml"), `[[token]]\nname = "test"\nsha256 = "${createHash("sha256").update(token).digest("hex")}"\nsee = "all"\n`, { mode: 0o600 });
const daemon = spawn(join(bin, "tailord"), ["--frequency", "997", "--listen", `127.0.0.1:${port}`, "--tokens", join(folder, "tokens.toml")], { env, stdio: ["ignore", "ignore", "pipe"] });
let said = "";
daemon.stderr.on("data", (data) => { said += data; });
process.on("exit", () => { daemon.kill("SIGKILL"); rmSync(folder, { recursive: true, force: true }); });
const url = `http://127.0.0.1:${port}/`;
for (;;) {
  if (daemon.exitCode !== null) throw new Error(`tailord ended: ${said}`);
  if (await fetch(`${url}api/v1/health`).then((answer) => answer.ok, () => false)) break;
  await new Promise((again) => setTimeout(again, 100));
}

const browser = await launch();
// axe is put into the page from outside, which its policy forbids.
const page = await open(browser, url, { bypassCSP: true });
const rows = "section[aria-label=Executions] tbody a";

test("the page asks for a token, and takes the right one", async () => {
  await page.locator("input[name=token]").fill("wrong");
  await page.locator("button[type=submit]").click();
  await page.locator("[role=alert]").waitFor();
  await page.locator("input[name=token]").fill(token);
  await page.locator("button[type=submit]").click();
  await page.waitForSelector("text=live");
  // What the browser says of the 401s above.
  page.wrong.length = 0;
});

test("executions appear while the page is open", async () => {
  await page.evaluate(() => { window.notLoadedAgain = true; });
  weft("tpch-3");
  await page.locator(rows, { hasText: "tpch-3" }).first().waitFor();
  weft("tpch-6");
  await page.locator(rows, { hasText: "tpch-6" }).first().waitFor();
  await page.locator("text=Cost by query").first().waitFor();
  expect(await page.evaluate(() => window.notLoadedAgain === true), "the page was loaded again");
});

test("an execution has the numbers of tailor report", async () => {
  const { executions } = JSON.parse(run("tailor", "list", "--json", "--limit", "10000"));
  const most = executions.filter((each) => each.plan_name === "tpch-6" && each.samples > 0).sort((a, b) => b.samples - a.samples);
  // These executions are short: the only sample of one may lie beside its plan, before the first pipeline.
  const reports = most.values().map((each) => [each, JSON.parse(run("tailor", "report", each.id, "--json"))]);
  const [best, report] = reports.find(([, each]) => each.plans.length > 0) ?? [];
  expect(best, "no execution has a sample in its plan");
  await page.evaluate((id) => { location.hash = `#/execution/${id}`; }, best.id);
  await page.waitForSelector(".node");
  const shown = await page.evaluate(() => [...document.querySelectorAll(".node")].map((node) => node.querySelector(".share").textContent));
  expect(shown.length === report.plans[0].operators.length, `${shown.length} operators`);
  const samples = Number((await page.locator(".fact:has-text('samples') b").first().textContent()).replace(/[^0-9]/g, ""));
  expect(samples === report.samples, `${samples} samples, and ${report.samples} in the report`);
});

test("axe finds nothing serious in what is live", async () => {
  await page.evaluate(axeSource());
  for (const hash of ["#/", await page.evaluate(() => location.hash)]) {
    await page.evaluate((to) => { location.hash = to; }, hash);
    await page.waitForSelector("main");
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    const serious = found.violations.filter((each) => each.impact === "serious" || each.impact === "critical");
    expect(serious.length === 0, `${hash}: ${serious.map((each) => `${each.id} ${each.nodes[0].target}`).join("; ")}`);
  }
  // 404 is the answer of a view that has nothing to show, and the browser says so.
  const wrong = page.wrong.filter((each) => !each.includes("404"));
  expect(wrong.length === 0, wrong.join("; "));
});

test("the page says when the daemon is gone", async () => {
  await page.evaluate(() => { location.hash = "#/"; });
  await page.waitForSelector("text=Cost by query");
  daemon.kill("SIGTERM");
  await page.waitForSelector("text=no connection");
});

const code = await finish();
await browser.close();
process.exit(code);
