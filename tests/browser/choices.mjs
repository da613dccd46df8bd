// What a reader chooses reaches every view: parts of very many samples, pipelines in memory and machine code, and tables
// whose order is part of the address.
import { addressOf, launch, missing, open, serve, writeReport } from "./browser.mjs";
import { expect, finish, plain, skip, test } from "./check.mjs";
import { makeBundle, sliced } from "./fixture.mjs";
import { Owners } from "../../viewer/web/src/model/owners.ts";
import { SampleTable } from "../../viewer/web/src/model/samples.ts";
import { Workers } from "../../viewer/web/src/model/workers.ts";

if (missing()) skip(missing());
const bundle = makeBundle();
const samples = bundle.responses["executions/all/samples"];
const slice = 20_000_000;
const browser = await launch();
const text = async (page, selector) => plain(await page.locator(selector).first().textContent());
const samplesOf = async (page) => Number((await text(page, ".fact:has-text('samples') b")).replace(/[^0-9]/g, ""));
const within = (from, to, tid) => samples.time_ns.filter((time, i) => time >= from && time < to && (tid === undefined || samples.tid[i] === tid)).length;

// The samples of [from, to), as a server answers them.
function some(from, to) {
  const rows = samples.time_ns.flatMap((time, i) => (time >= from && time < to ? [i] : []));
  return { ...samples, total: rows.length, count: rows.length, ...Object.fromEntries(["time_ns", "tid", "weight", "cell"].map((column) => [column, rows.map((i) => samples[column][i])])) };
}

const profile = bundle.responses["executions/all/profile"];
const workers = Workers.of(profile, samples, new SampleTable(profile, samples, new Owners(profile)));

// Who worked in a time, as a server answers it.
function workersIn(parameters) {
  const [from, to, buckets, tid] = ["from_ns", "to_ns", "buckets", "thread"].map((name) => (parameters.has(name) ? Number(parameters.get(name)) : null));
  const lane = workers.lane({ from: -Infinity, to: Infinity, tid, pipeline: null }, { from, to }, buckets);
  return { workers: lane && { threads: lane.threads, working: [...lane.working], waiting: lane.waiting && [...lane.waiting] } };
}

// A server that has slices of the whole, each sample `times` over, and single samples where somebody asks for a time.
async function sliceServer(times = 1) {
  const asked = [];
  const lanes = [];
  const slices = sliced(samples, slice);
  slices.samples = slices.samples.map((count) => count * times);
  const server = await serve({ ...bundle, responses: { ...bundle.responses, "executions/all/samples": slices } }, (path, parameters) => {
    if (path.endsWith("/timeline")) {
      lanes.push(Object.fromEntries(parameters));
      return workersIn(parameters);
    }
    if (!path.endsWith("/samples") || !parameters.has("from_ns")) return undefined;
    asked.push([Number(parameters.get("from_ns")), Number(parameters.get("to_ns"))]);
    return some(...asked.at(-1));
  });
  return { ...server, asked, lanes };
}

test("of a chosen time with few samples the page gets these one by one", async () => {
  const server = await sliceServer();
  // No edge of a slice.
  const [from, to] = [703_000_001, 1_111_000_007];
  const page = await open(browser, `${server.url}#/execution/all?from=${from}&to=${to}`);
  await page.waitForSelector(".sliced:has-text('are here one by one')");
  expect(server.asked.join() === `${from},${to}`, `asked for ${server.asked}`);
  expect((await samplesOf(page)) === within(from, to), `${await samplesOf(page)} shown, ${within(from, to)} in the time`);
  // A narrower time needs no further request, and threads can be chosen.
  await page.evaluate((hash) => { location.hash = hash; }, `#/execution/all?from=${from + 1e8}&to=${to - 1e8}&tid=815`);
  await page.waitForSelector("[data-filter=tid]");
  expect((await samplesOf(page)) === within(from + 1e8, to - 1e8, 815), "samples of a thread in a part of it");
  await page.waitForTimeout(600);
  expect(server.asked.length === 1, `asked ${server.asked.length} times`);
  // Seen from near, they have a lane for each thread.
  await page.locator("#card-range button:has-text('Show from near')").click();
  await page.locator("#card-activity button:has-text('Threads')").click();
  await page.waitForFunction(() => document.querySelectorAll("#card-activity .lane").length === 2);
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  server.close();
});

test("slices do not say which threads worked: the server does, as far as it can read the samples", async () => {
  const few = await sliceServer();
  const page = await open(browser, `${few.url}#/execution/all`);
  await page.waitForSelector("#card-activity .workers");
  const { lanes, from_ns, to_ns, buckets } = few.lanes.at(-1);
  expect(lanes === "all", JSON.stringify(few.lanes.at(-1)));
  const { working } = workersIn(new URLSearchParams({ from_ns, to_ns, buckets })).workers;
  const mean = working.reduce((sum, each) => sum + each, 0) / working.length;
  const label = await text(page, "#card-activity .workers");
  expect(mean > 0 && label.replaceAll(/\s+/g, "") === `2threadsonaverage${mean.toFixed(1)}work`, `${label}, and ${mean} on average`);
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  few.close();

  const many = await sliceServer(400);
  const far = await open(browser, `${many.url}#/execution/all`);
  await far.waitForSelector(".sliced");
  await far.waitForTimeout(600);
  expect(many.lanes.length === 0 && (await far.locator("#card-activity .workers").count()) === 0, "a server reads millions of samples for a lane");
  await far.evaluate((hash) => { location.hash = hash; }, `#/execution/all?left=${10 * slice}&right=${12 * slice}`);
  await far.waitForSelector("#card-activity .workers");
  expect(Number(many.lanes.at(-1).to_ns) - Number(many.lanes.at(-1).from_ns) <= 3 * slice, JSON.stringify(many.lanes));
  await far.close();
  many.close();
  const most = await sliceServer(1000);
  const near = await open(browser, `${most.url}#/execution/all?left=${10 * slice}&right=${12 * slice}`);
  await near.waitForSelector(".sliced:has-text('are here one by one')");
  await near.waitForTimeout(600);
  expect(most.lanes.length === 0, "a server keeps millions of samples for a lane");
  await near.close();
  most.close();
});

test("of a chosen time with too many samples the page keeps whole slices, and says so", async () => {
  const server = await sliceServer(1000);
  const page = await open(browser, `${server.url}#/execution/all?from=${20 * slice}&to=${60 * slice}&tid=815`);
  await page.waitForSelector(".sliced:has-text('with at most')");
  await page.waitForTimeout(600);
  expect(server.asked.length === 0, `asked for ${server.asked}`);
  expect((await text(page, ".fact:has-text('samples') b")).endsWith(" M"), "the slices are summed up");
  expect((await text(page, "[data-filter=tid]")).includes("not applied"), "a thread cannot be chosen, and the page does not say so");
  await page.close();
  server.close();
});

test("a report file says nothing of samples that it cannot get", async () => {
  const file = writeReport({ ...bundle, responses: { ...bundle.responses, "executions/all/samples": sliced(samples, slice) } });
  const page = await open(browser, `${file.url}#/execution/all?from=703000001&to=1111000007`);
  await page.waitForSelector(".sliced");
  expect(!(await text(page, ".sliced")).includes("one by one"), await text(page, ".sliced"));
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  file.remove();
});

const accesses = async (page) => Number(/([\d,]+) of/.exec(await text(page, "#card-memory .note"))[1].replaceAll(",", ""));

test("a chosen pipeline narrows the accesses to memory", async () => {
  const { points } = bundle.responses["executions/all/memory"];
  const file = writeReport(bundle);
  for (const pipeline of [2, 3]) {
    const page = await open(browser, `${file.url}#/execution/all?tab=memory&pipe=812.5512.7%3A${pipeline}`);
    await page.waitForSelector(".memorypanel");
    const wanted = points.pipeline.filter((each) => each === pipeline).length;
    expect((await accesses(page)) === wanted && wanted > 0 && wanted < points.count, `${await accesses(page)} accesses of pipeline ${pipeline}, and not ${wanted}`);
    await page.close();
  }
  file.remove();
  // A file of an older program does not say it, and the page says so.
  const responses = structuredClone(bundle.responses);
  delete responses["executions/all/memory"].points.pipeline;
  const old = writeReport({ ...bundle, responses });
  const page = await open(browser, `${old.url}#/execution/all?tab=memory&pipe=812.5512.7%3A2`);
  await page.waitForSelector("#card-memory:has-text('of all pipelines')");
  expect((await accesses(page)) === points.count, "all of them are shown");
  await page.close();
  old.remove();
});

test("regions have the role and the pattern that the server found", async () => {
  const file = writeReport(bundle);
  const page = await open(browser, `${file.url}#/execution/all?tab=memory`);
  await page.waitForSelector(".memorypanel:has-text('l_orderkey'):has-text('column'):has-text('sequential')");
  await page.waitForSelector(".memorypanel:has-text('o_orderkey'):has-text('strided, 64 B apart')");
  await page.locator("#card-memory header button[title='The same as a table']").click();
  const row = await text(page, "#card-memory tr:has-text('join directory')");
  expect(row.includes("directory") && row.includes("random"), row);
  expect((await text(page, "#card-memory tr:has-text('join entries')")).includes("not known"), "too few accesses are no pattern");
  await page.close();
  file.remove();
});

test("the machine code has the costs of the chosen part where a server can say them", async () => {
  const listing = bundle.responses["executions/all/listing"];
  const part = structuredClone(listing);
  const [object] = part.assembly;
  object.instructions.forEach((each) => { each.weight = 0; each.share = 0; });
  Object.assign(object.instructions[20], { weight: 5e6, share: 0.123 });
  const asked = [];
  const server = await serve(bundle, (path, parameters) => {
    if (!path.endsWith("/listing") || !parameters.has("from_ns")) return undefined;
    asked.push(parameters.toString());
    return part;
  });
  const hash = "#/execution/all?tab=code&code=all&from=500&to=1500000000&tid=816&pipe=812.5512.7%3A2";
  const page = await open(browser, server.url + hash);
  await page.waitForSelector("h3:has-text('cost of the chosen part')");
  const request = new URLSearchParams(asked.at(-1));
  for (const [name, value] of [["from_ns", "500"], ["to_ns", "1500000000"], ["thread", "816"], ["pipeline", "2"]]) expect(request.get(name) === value, `${name}=${request.get(name)}`);
  await page.waitForSelector(".pane:nth-child(2) .cost:has-text('12.3 %')");
  await page.close();
  server.close();
  const file = writeReport(bundle);
  const offline = await open(browser, file.url + hash);
  await offline.waitForSelector("h3:has-text('cost of the whole view, not of the chosen part')");
  await offline.close();
  file.remove();
});

test("the accesses of a chosen part are those that the server has of it, and a file's tables are of the whole", async () => {
  const memory = bundle.responses["executions/all/memory"];
  const part = structuredClone(memory);
  part.by_region = part.by_region.map((row) => ({ ...row, share: 0.456, pattern: "mixed" }));
  const asked = [];
  const server = await serve(bundle, (path, parameters) => {
    if (!path.endsWith("/memory") || !parameters.has("from_ns")) return undefined;
    asked.push(parameters.toString());
    return part;
  });
  // What is in sight is a part too.
  const hash = "#/execution/all?tab=memory&table=memory&left=500000000&right=1500000000&tid=816";
  const page = await open(browser, server.url + hash);
  await page.waitForSelector("#card-memory h3:has-text('of the chosen part')");
  const request = new URLSearchParams(asked.at(-1));
  for (const [name, value] of [["from_ns", "500000000"], ["to_ns", "1500000000"], ["thread", "816"]]) expect(request.get(name) === value, `${name}=${request.get(name)}`);
  await page.waitForSelector("#card-memory td:has-text('45.6 %')");
  await page.close();
  server.close();
  const file = writeReport(bundle);
  const offline = await open(browser, file.url + hash);
  await offline.waitForSelector("#card-memory h3:has-text('of the whole view')");
  expect((await offline.locator("#card-memory td:has-text('45.6 %')").count()) === 0, "the file knows the part");
  expect(offline.wrong.length === 0, offline.wrong.join("; "));
  await offline.close();
  file.remove();
});

test("the order of a table, and that it shows all rows, are part of the address", async () => {
  const many = structuredClone(bundle.responses);
  const { lines } = many["executions/all/listing"];
  const some = lines.find((line) => line.kind === "instruction");
  for (let line = lines.length + 1; line <= 700; line++) lines.push({ ...some, line });
  // Without single samples the page shows the lines' costs as they are told.
  many["executions/all/samples"] = { error: { kind: "exhausted", message: "too many" } };
  lines.forEach((line) => { if (line.kind === "instruction") Object.assign(line, { weight: 1e6 + line.line, share: line.line / 1e4 }); });
  const file = writeReport({ ...bundle, responses: many });
  const page = await open(browser, `${file.url}#/execution/all?tab=code&table=code`);
  await page.waitForSelector("#card-code tbody tr");
  const rows = () => page.locator("#card-code tbody tr").count();
  expect((await rows()) === 300, `${await rows()} rows`);
  await page.locator("#card-code th:has-text('share') button").click();
  await page.locator("#card-code button:has-text('Show all')").click();
  const wanted = await page.locator("#card-code tbody tr td:first-child").allTextContents();
  expect(wanted.length > 300 && wanted[0] === "700", `${wanted.length} rows, the first is line ${wanted[0]}`);
  const again = await open(browser, await addressOf(page));
  await again.waitForSelector("#card-code tbody tr");
  expect((await again.locator("#card-code tbody tr td:first-child").allTextContents()).join() === wanted.join(), "the link shows another order");
  expect(again.wrong.length === 0, again.wrong.join("; "));
  await again.close();
  await page.goto(`${file.url}#/execution/all?tab=code&table=code&sort=lines-with-cost:nothing:down,:::,x&all=,,`);
  await page.waitForSelector("#card-code tbody tr");
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  file.remove();
});

const code = await finish();
await browser.close();
process.exit(code);
