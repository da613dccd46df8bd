// Real profiles of weft: `tailor report --html` opens from disk with the numbers of `tailor report --json`, and
// `tailor web` serves the same page.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { launch, missing, open, template } from "./browser.mjs";
import { expect, finish, near, plain, samplingDenied, skip, test } from "./check.mjs";
import { answerIn } from "../../viewer/web/src/data/packed.ts";
import { ask, goTo, record, run, unbuilt, withServer } from "./recorded.mjs";

if (missing()) skip(missing());
if (samplingDenied()) skip(samplingDenied());
if (unbuilt()) skip(unbuilt());
const { folder, profile } = record("tpch-3", 60);
const html = join(folder, "q3.html");
run("tailor", "report", profile, "--html", html);
const report = JSON.parse(run("tailor", "report", profile, "--of", "everything", "--json"));
const browser = await launch();

const shares = (page) => page.evaluate(() => [...document.querySelectorAll(".node")].map((node) => [Number(node.id.replace("plan-node-", "")), node.querySelector(".share").textContent.replaceAll("\u00a0", " ")]));
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

const bundleOf = () => {
  const [, data] = /<script type="application\/gzip" id="tailor-bundle">(.*?)<\/script>/s.exec(readFileSync(html, "utf8"));
  return JSON.parse(gunzipSync(Buffer.from(data, "base64")).toString("utf8"));
};

test("what executions share stands in the file once, and all of it is compressed", () => {
  const most = statSync(template).size + 20 * statSync(profile).size;
  expect(statSync(html).size < most, `${statSync(html).size} bytes of a profile of ${statSync(profile).size}`);
  // The twin: as JSON, and each answer whole, it is beyond that.
  const { responses } = bundleOf();
  const whole = Object.keys(responses).reduce((sum, key) => sum + JSON.stringify(answerIn(responses, key)).length, 0);
  expect(whole > most, `${whole} bytes without that`);
});

test("the samples in the file add up to the report", () => {
  const bundle = bundleOf();
  const samples = answerIn(bundle.responses, `executions/${bundle.id}/samples`);
  const position = samples.sources.findIndex((source) => source.name === report.source.name);
  let weight = 0;
  samples.cell.forEach((cell, i) => { if (samples.cells[cell].source === position) weight += samples.weight[i]; });
  near(weight, report.weight, "weight");
});

test("tailor web serves the same page from the same file", () => withServer(browser, profile, async (page) => {
  await goTo(page, "#/execution/all");
  await page.waitForSelector(".node");
  const shown = new Map(await shares(page));
  for (const row of report.plans[0].operators) expect(same(shown.get(row.id), row.share), `${row.name}: ${shown.get(row.id)} for ${row.share}`);
}));

// What the table of the comparison says is what `tailor diff` says.
async function compareAs(page, diff) {
  await page.waitForSelector("#card-compare tbody tr");
  const shown = await page.locator("#card-compare tbody tr").evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent.replaceAll("\u00a0", " "))));
  const wanted = [...diff.operators, ...diff.rest];
  expect(shown.length === wanted.length && wanted.length > 3, `${shown.length} rows, and ${wanted.length} in tailor diff`);
  wanted.forEach((row, i) => {
    const [name, , a, b, change, , significant] = shown[i];
    expect(name === row.name, `${name} is not ${row.name}`);
    for (const [text, side] of [[a, row.a], [b, row.b]]) expect(side === null ? text === "–" : same(text.split(" (")[0], side.share), `${name}: ${text} for ${side?.share}`);
    expect(Math.abs(Number.parseFloat(change.replace("−", "-")) - row.share_change * 100) <= 0.051, `${name}: ${change} for ${row.share_change}`);
    expect((significant === "yes") === row.significant, `${name}: ${significant}`);
  });
}

test("a comparison has the numbers of tailor diff, in a file and from a server", async () => {
  const bundle = bundleOf();
  const ids = Object.keys(bundle.responses).filter((key) => key.startsWith("compare?")).map((key) => /a=(\w+)&b=(\w+)/.exec(key).slice(1));
  expect(ids.length > 0, "the file compares nothing");
  const samples = new Map(bundle.responses.executions.executions.map((row) => [row.id, row.samples]));
  const [a, b] = ids.sort((x, y) => samples.get(y[0]) + samples.get(y[1]) - samples.get(x[0]) - samples.get(x[1]))[0];
  const diff = JSON.parse(run("tailor", "diff", `${profile}#${a}`, `${profile}#${b}`, "--json"));
  const turned = JSON.parse(run("tailor", "diff", `${profile}#${b}`, `${profile}#${a}`, "--json"));
  const page = await open(browser, `${pathToFileURL(html).href}#/compare?a=${a}&b=${b}&table=compare`);
  await compareAs(page, diff);
  await page.close();
  await withServer(browser, profile, async (served) => {
    await goTo(served, `#/compare?a=${b}&b=${a}&table=compare`);
    await compareAs(served, turned);
  });
});

test("all runs of a query beside one of them have the numbers of tailor diff", () => withServer(browser, profile, async (page) => {
  const { fingerprints } = await ask(page, "fingerprints");
  const { fingerprint, executions } = fingerprints[0];
  const { executions: rows } = await ask(page, "executions?limit=1000");
  const [one] = rows.filter((row) => row.fingerprint === fingerprint).sort((x, y) => y.samples - x.samples);
  await goTo(page, `#/compare?a=fingerprint:${fingerprint}&b=${one.id}&table=compare`);
  await compareAs(page, JSON.parse(run("tailor", "diff", `${profile}#fingerprint:${fingerprint}`, `${profile}#${one.id}`, "--json")));
  const facts = plain(await page.locator("section.side.A p").first().textContent());
  expect(facts.includes(`${executions} executions`), facts);
}));

test("the machine code of a chosen thread costs what its listing says", () => withServer(browser, profile, async (page) => {
  await goTo(page, "#/execution/all?tab=threads");
  const tid = Number(await page.locator(".lane.thread .dim").first().textContent());
  await goTo(page, `#/execution/all?tab=code&code=all&tid=${tid}`);
  await page.waitForSelector("h3:has-text('cost of the chosen part')");
  const { plans } = answerIn(bundleOf().responses, "executions/all/profile");
  const answer = await ask(page, `executions/all/listing?plan=${plans[0].plan_key}&thread=${tid}`);
  const wanted = answer.assembly.flatMap((object) => object.instructions).reduce((most, each) => Math.max(most, each.share ?? 0), 0);
  const all = report.plans[0].share;
  expect(wanted > 0 && wanted <= all, `the dearest instruction has ${wanted}`);
  await page.locator("#tab-flame").click();
  await page.locator("#tab-code").click();
  // Until then it shows the cost of the whole view, and says so.
  await page.waitForSelector("h3:has-text(', cost of the chosen part')");
  const shown = await page.evaluate(async () => {
    // Every part of the list, as one scrolls through it.
    const list = document.querySelector("[aria-label='Machine code']");
    const found = new Set();
    for (let top = 0; top <= list.scrollHeight; top += 300) {
      list.scrollTop = top;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      list.querySelectorAll(".cost").forEach((cell) => found.add(cell.textContent.replaceAll("\u00a0", " ")));
    }
    return [...found];
  });
  expect(shown.some((each) => each !== "" && same(each, wanted)), `no instruction shows ${percent(wanted)}: ${shown.slice(0, 20)}`);
}));

const code = await finish();
await browser.close();
process.exit(code);
