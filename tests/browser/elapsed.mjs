// How long things took: parts of the elapsed time as a flame graph and by pipeline, and how many threads worked at each moment.
import { addressOf, hoverUntil, launch, missing, open, serve, writeReport } from "./browser.mjs";
import { expect, finish, plain, skip, test } from "./check.mjs";
import { makeBundle, sliced } from "./fixture.mjs";

if (missing()) skip(missing());
const bundle = makeBundle({ points: 10 });
const browser = await launch();
const planKey = "812.5512.7";
const profile = bundle.responses["executions/all/profile"];
const text = async (page, selector) => plain(await page.locator(selector).first().textContent());

// The join works for 1.5 s of 2 s, in one pipeline, and for the rest no thread works.
function elapsedProfile() {
  const part = (row, share, more) => ({ ...row, share, share_low: share, share_high: share, weight: share * 2e9, ...more });
  const [plan] = profile.plans;
  return {
    ...profile,
    elapsed: { executions: 1, too_short: 0, ns: 2e9, worked_ns: 1.5e9, idle_ns: 0.5e9, idle_share: 0.25 },
    plans: [{
      ...plan,
      operators: plan.operators.map((row) => (row.id === 4 ? part(row, 0.75, { threads: 2, skew: 1.6, skew_low: 1.2 }) : part(row, 0))),
      pipelines: plan.pipelines.map((row) => (row.id === 3 ? part(row, 0.75, { threads: 2, skew: 1.7, skew_low: 1.3 }) : part(row, 0))),
    }],
    component_rows: profile.component_rows.map((row) => part(row, 0)),
    unattributed_rows: profile.unattributed_rows.map((row) => part(row, 0)),
  };
}
function elapsedFlame() {
  const node = (key, kind, id, name, weight, children = []) => ({ key, kind, id, name, weight, samples: kind === "idle" ? 0 : 1500, children });
  const line = node(`line:${planKey}:50`, "line", 50, "%v = load", 1.5e9);
  const operator = node(`operator:${planKey}:4`, "operator", 4, "Hash join", 1.5e9, [node(`task:${planKey}:7`, "task", 7, "Probe", 1.5e9, [line])]);
  const root = node("", "all", 0, "all", 2e9, [node(`pipeline:${planKey}:3`, "pipeline", 3, "probe lineitem", 1.5e9, [operator]), node("", "idle", 0, "no thread worked", 0.5e9)]);
  return { order: ["pipeline", "operator", "task", "line"], of: "elapsed", root };
}
async function elapsedServer(flame = elapsedFlame()) {
  const asked = [];
  const server = await serve(bundle, (path, parameters) => {
    if (parameters.get("of") !== "elapsed") return undefined;
    asked.push([path.split("/").pop(), Object.fromEntries(parameters)]);
    return path.endsWith("/flame") ? flame : elapsedProfile();
  });
  return { ...server, asked };
}
const rowsOf = (page) => page.locator("#card-flame tbody tr").evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent.replaceAll("\u00a0", " ").trim())));

test("the flame graph shows parts of the elapsed time, of the chosen time and operator", async () => {
  const server = await elapsedServer();
  const page = await open(browser, `${server.url}#/execution/all?table=flame&from=500000000&to=1500000000&tid=815`);
  await page.waitForSelector("#card-flame tbody tr");
  const cpu = (await rowsOf(page)).length;
  await page.locator("#card-flame button:text-is('Elapsed time')").click();
  await page.waitForSelector("#card-flame tr:has-text('no thread worked')");
  const rows = await rowsOf(page);
  expect(rows.length === 6 && cpu > 6, `${rows.length} rows, and ${cpu} of CPU time`);
  const found = (name) => rows.find((row) => row[0].startsWith(name)).slice(1).join("; ");
  expect(found("no thread worked") === "idle; 25.0 %; 500 ms; ", found("no thread worked"));
  expect(found("pipeline 3") === "pipeline; 75.0 %; 1.50 s; 1500", found("pipeline 3"));
  const [, parameters] = server.asked.filter(([view]) => view === "flame").at(-1);
  expect(parameters.from_ns === "500000000" && parameters.to_ns === "1500000000" && parameters.order === "pipeline,operator,task,line" && parameters.source === "cpu-clock", JSON.stringify(parameters));
  expect(parameters.thread === undefined, "a thread is chosen of the elapsed time");
  const note = await text(page, "#card-flame .note");
  expect(note.includes("2.00 s of elapsed time") && note.includes("of all threads"), note);
  // The plan is of the same, and so is the address.
  expect((await addressOf(page)).includes("of=elapsed"), await addressOf(page));
  await page.waitForSelector("#card-plan :text('no thread worked')");
  // Of another operator there is nothing.
  await page.evaluate(() => { location.hash = `${location.hash}&op=6`; });
  await page.waitForSelector("#card-flame .note:has-text('only Scan')");
  await page.waitForFunction(() => document.querySelectorAll("#card-flame tbody tr").length === 1);
  await page.locator("#card-flame button:text-is('CPU time')").click();
  await page.waitForFunction(() => !location.hash.includes("of="));
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  server.close();
});

test("operator first asks for that order, a click zooms, and a line leads to its code", async () => {
  const server = await elapsedServer();
  const page = await open(browser, `${server.url}#/execution/all?of=elapsed`);
  const canvas = page.locator("#card-flame canvas");
  await canvas.waitFor();
  await canvas.scrollIntoViewIfNeeded();
  const at = (part, row) => (box) => [box.x + box.width * part, box.y + 22 * row + 11];
  const click = async (part, row) => page.mouse.click(...at(part, row)(await canvas.boundingBox()));
  await hoverUntil(page, canvas, at(0.9, 1), ".tip:has-text('no thread worked')");
  const tip = plain(await page.locator(".tip").textContent());
  expect(tip.includes("25.0 %") && tip.includes("500 ms") && !tip.includes("samples"), tip);
  await click(0.3, 1);
  await page.waitForSelector(".crumbs button:has-text('pipeline 3: probe lineitem')");
  await page.locator("#card-flame button:text-is('Operator first')").click();
  for (let wait = 0; server.asked.at(-1)[1].order !== "operator,pipeline,task,line"; wait++) {
    expect(wait < 200, JSON.stringify(server.asked.at(-1)));
    await page.waitForTimeout(50);
  }
  await canvas.waitFor();
  await canvas.scrollIntoViewIfNeeded();
  await hoverUntil(page, canvas, at(0.3, 4), ".tip .dim:text-is('line')");
  await click(0.3, 4);
  await page.waitForFunction(() => /tab=code/.test(location.hash) && /line=50/.test(location.hash));
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  server.close();
});

test("the table of the elapsed time has pipelines with their threads and their skew", async () => {
  const server = await elapsedServer();
  const page = await open(browser, `${server.url}#/execution/all?of=elapsed&table=plan`);
  const table = page.locator("#card-plan [aria-label='Pipelines in the elapsed time']");
  await table.waitFor();
  const cells = (await table.locator("tbody tr td").allTextContents()).map(plain);
  expect(cells.join("; ").startsWith("pipeline 3; probe lineitem; 75.0 %"), cells.join("; "));
  expect(cells.slice(-3).join("; ") === "1.50 s; 2.0; 1.7", cells.join("; "));
  expect((await page.locator("#card-plan [aria-label='Parts of the elapsed time'] tbody tr").count()) > 8, "the operators are gone");
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  server.close();
});

test("what cannot be divided is said in the flame graph, and a report file offers CPU time alone", async () => {
  const server = await elapsedServer({ error: { kind: "invalid", message: "samples were added up" } });
  const page = await open(browser, `${server.url}#/execution/all?of=elapsed`);
  await page.waitForSelector("#card-flame [role=alert]:has-text('samples were added up')");
  await page.close();
  server.close();
  const file = writeReport(bundle);
  const offline = await open(browser, `${file.url}#/execution/all?of=elapsed&table=flame`);
  await offline.waitForSelector("#card-flame tbody tr");
  expect((await offline.locator("button:text-is('Elapsed time')").count()) === 0, "a file offers what it lacks");
  expect((await offline.locator("#card-flame tr:has-text('no thread worked')").count()) === 0, "it shows elapsed time");
  expect(offline.wrong.length === 0, offline.wrong.join("; "));
  await offline.close();
  file.remove();
});

// Beside the CPU time of two threads, thread 816 waits for a lock from 1.0 to 1.5 s.
function withWait() {
  const responses = structuredClone(bundle.responses);
  const samples = responses["executions/all/samples"];
  samples.sources.push({ index: 1, name: "off-cpu", unit: "ns_off_cpu", period: 1, precise: true });
  samples.cells.push({ ...samples.cells[0], source: 1, wait: "lock" });
  for (const [column, value] of [["time_ns", 1.5e9], ["tid", 816], ["weight", 0.5e9], ["cell", samples.cells.length - 1]]) samples[column].push(value);
  return { ...bundle, responses };
}
const hover = (page, part, up, selector) => hoverUntil(page, page.locator("#card-activity canvas"), (box) => [box.x + box.width * part, box.y + box.height - up], selector);

test("the lane of threads says how many worked and waited at each moment", async () => {
  const file = writeReport(withWait());
  const page = await open(browser, `${file.url}#/execution/all?left=900000000&right=1600000000`);
  await page.waitForSelector("#card-activity .workers");
  const label = await text(page, "#card-activity .workers");
  // 0.5 s of 0.7 s.
  expect(/^2 threads\s*on average 1\.\d work, 0\.7 wait$/.test(label), label);
  // The axis is 20 px high, the lane 44 px.
  await hover(page, 0.5, 40, ".tip:has-text('1.00 wait off the CPU')");
  expect((await text(page, ".tip")).includes("of 2 threads work"), await text(page, ".tip"));
  await hover(page, 0.05, 40, ".tip:has-text('0.00 wait off the CPU')");
  // Its place is below the other lanes, so these stay where they are.
  const box = await page.locator("#card-activity canvas").boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + box.height - (20 + 44 + 10));
  await page.waitForFunction(() => !document.querySelector(".tip")?.textContent.includes("threads work"));
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  file.remove();
});

test("without waits the lane says nothing of them, and one thread or sums over slices have none", async () => {
  const responses = structuredClone(bundle.responses);
  const plainFile = writeReport({ ...bundle, responses });
  const page = await open(browser, `${plainFile.url}#/execution/all`);
  await page.waitForSelector("#card-activity .workers");
  expect(!/wait/.test(await text(page, "#card-activity .workers")), await text(page, "#card-activity .workers"));
  await page.evaluate(() => { location.hash = "#/execution/all?tid=815"; });
  await page.waitForSelector("#card-activity .workers", { state: "detached" });
  await page.close();
  plainFile.remove();
  const samples = responses["executions/all/samples"];
  responses["executions/all/samples"] = sliced(samples, 20_000_000);
  const file = writeReport({ ...bundle, responses });
  const other = await open(browser, `${file.url}#/execution/all`);
  await other.waitForSelector(".sliced");
  expect((await other.locator("#card-activity .workers").count()) === 0, "slices do not say which threads worked");
  expect(other.wrong.length === 0, other.wrong.join("; "));
  await other.close();
  file.remove();
});

const code = await finish();
await browser.close();
process.exit(code);
