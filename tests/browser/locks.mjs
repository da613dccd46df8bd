// Who held locks, and who waits for one now: on the page of an execution and on the overview.
import { launch, missing, open, serve, writeReport } from "./browser.mjs";
import { expect, finish, plain, skip, test } from "./check.mjs";
import { hostile, makeBundle } from "./fixture.mjs";

if (missing()) skip(missing());
const bundle = makeBundle({ samples: 400, points: 10 });
const browser = await launch();
const a = "3f2a".repeat(8);
const b = "77ab".repeat(8);
const rowsOf = (page, card) => page.locator(`#card-${card} tbody tr`).evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent.replaceAll("\u00a0", " ").trim())));
const blocker = (pid, execution, from, to) => ({ pid, process_start: 7, execution, from_ns: from * 1e9, to_ns: to * 1e9 });

// `a` waited for `b`, and that for somebody who runs nothing that is known.
function heldUp() {
  const responses = structuredClone(bundle.responses);
  const holder = { ...responses[`executions/${b}`], id: b, plan_name: "update orders", comm: "postgres", blockers: [blocker(903, null, 0.5, 1)], blockers_left_out: 2 };
  Object.assign(responses[`executions/${a}`], { elapsed_ns: 2e9, blockers: [blocker(902, b, 0.2, 1.8)], blockers_left_out: 0 });
  responses[`executions/${b}`] = holder;
  responses.executions.executions = responses.executions.executions.map((row) => (row.id === b ? holder : { ...row, blockers: responses[`executions/${a}`].blockers }));
  return responses;
}

async function checkTree(page, lastLink) {
  await page.waitForFunction(() => document.querySelectorAll("#card-locks tbody tr").length === 2);
  const [first, second] = await rowsOf(page, "locks");
  expect(first.slice(0, 5).join("; ") === "process 902 (postgres); update orders; 200 ms; 1.80 s; 1.60 s", first.join("; "));
  expect(second.slice(0, 5).join("; ") === "process 903; no execution that is known; 500 ms; 1.00 s; 500 ms", second.join("; "));
  const [outer, inner] = await page.locator("#card-locks .below").evaluateAll((all) => all.map((each) => Number.parseFloat(getComputedStyle(each).paddingLeft)));
  expect(inner > outer, `${inner} px below ${outer} px: it is no tree`);
  expect((await page.locator("#card-locks a").count()) === lastLink, "links to what is not there, or none to what is");
  expect(plain(await page.locator("#card-locks").textContent()).includes("2 more"), "what is left out is not said");
}

test("the page of an execution says who held it up, as a tree that leads to the holders", async () => {
  const server = await serve({ ...bundle, responses: heldUp() });
  const page = await open(browser, `${server.url}#/execution/${a}`);
  await checkTree(page, 1);
  // When it was, within the time of the execution.
  const bars = await page.locator("#card-locks .sharebar").evaluateAll((all) => all.map((each) => {
    const [box, fill] = [each.getBoundingClientRect(), each.querySelector(".fill").getBoundingClientRect()];
    return [(fill.left - box.left) / box.width, (fill.right - box.left) / box.width];
  }));
  [[0.1, 0.9], [0.25, 0.5]].forEach((wanted, i) => wanted.forEach((edge, j) => expect(Math.abs(bars[i][j] - edge) < 0.02, `a bar at ${bars[i]}, and not ${wanted}`)));
  expect(page.asked.filter((url) => url.endsWith(`/executions/${b}`)).length === 1, "the holder is not asked for once");
  await page.locator("#card-locks a").click();
  await page.waitForFunction((id) => location.hash.startsWith(`#/execution/${id}`), b);
  await page.waitForFunction(() => document.querySelectorAll("#card-locks tbody tr").length === 1);
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  server.close();
});

test("an execution that only waited has no sample, and its tree all the same", async () => {
  const responses = heldUp();
  responses[`executions/${a}`].samples = 0;
  for (const view of ["profile", "samples", "sources", "iterations"]) responses[`executions/${a}/${view}`] = { error: { kind: "not_found", message: "no sample in this selection" } };
  const server = await serve({ ...bundle, responses });
  const page = await open(browser, `${server.url}#/execution/${a}`);
  await page.waitForSelector("main:has-text('This run has no sample')");
  await checkTree(page, 1);
  await page.close();
  server.close();
});

test("a report file knows the holders that it lists, and asks for nothing", async () => {
  const responses = heldUp();
  for (const key of Object.keys(responses)) if (key.startsWith(`executions/${b}`)) delete responses[key];
  const file = writeReport({ ...bundle, responses });
  const page = await open(browser, `${file.url}#/execution/${a}`);
  await checkTree(page, 0);
  expect(page.asked.filter((url) => !url.startsWith("data:")).length === 1, page.asked.join(" "));
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  file.remove();
});

test("a holder that nobody may see is shown by its process, and one whom nobody held up has no tree", async () => {
  const responses = heldUp();
  responses[`executions/${b}`] = { error: { kind: "not_found", message: "no execution begins with that" } };
  const server = await serve({ ...bundle, responses });
  const page = await open(browser, `${server.url}#/execution/${a}`);
  await page.waitForSelector("#card-locks tbody tr");
  const [row] = await rowsOf(page, "locks");
  expect(row[0] === "process 902" && row[1] === b.slice(0, 12), row.join("; "));
  await page.close();
  server.close();
  const plainServer = await serve(bundle);
  const other = await open(browser, `${plainServer.url}#/execution/${a}`);
  await other.waitForSelector(".node");
  expect((await other.locator("#card-locks").count()) === 0, "a tree of nobody");
  await other.close();
  plainServer.close();
});

// The clock of the server says 10 s after these began.
function waitingNow(seen) {
  const live = makeBundle({ live: true, samples: 100, points: 10 });
  const { host } = live.responses;
  const running = (id, pid, name, blockers) => ({ ...host.running[0], id: id.repeat(8), pid, process_start: 7, comm: "postgres", plan_name: name, began_ms: host.to_ms - 10000, blockers });
  host.running = [running("aa01", 901, "update stock", [blocker(902, "aa02".repeat(8), 2, seen)]), running("aa02", 902, hostile, undefined), running("aa03", 903, "delete stock", [blocker(902, "aa02".repeat(8), 5, seen)])];
  return live;
}

test("the overview of a daemon says who waits for a lock now, below who holds it", async () => {
  const server = await serve(waitingNow(9));
  const page = await open(browser, server.url);
  await page.waitForSelector("#card-waiting tbody tr");
  const rows = await rowsOf(page, "waiting");
  expect(rows.map((row) => row[0]).join("; ") === "process 902 (postgres) holds a lock; process 901 (postgres); process 903 (postgres)", rows.join("; "));
  expect(rows.map((row) => row[2]).join() === ",7.00 s,4.00 s", rows.join("; "));
  expect((await page.locator("#card-waiting a").nth(1).getAttribute("href")).includes("aa01".repeat(8)), "it does not lead to the execution");
  expect(!(await page.evaluate(() => window.hacked)), "a name was taken for HTML");
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  server.close();
});

test("who waited a while ago does not wait now, and a file has no now", async () => {
  const before = await serve(waitingNow(3));
  const page = await open(browser, before.url);
  await page.waitForSelector("#card-fingerprints canvas");
  expect((await page.locator("#card-waiting").count()) === 0, "it is shown as if it were now");
  await page.close();
  before.close();
  const live = waitingNow(9);
  Object.assign(live.responses.status, { mode: "file", file: "q3.tailor" });
  const file = await serve(live, (path) => (path === "host" ? live.responses.host : undefined));
  const other = await open(browser, file.url);
  await other.waitForSelector("#card-fingerprints canvas");
  expect((await other.locator("#card-waiting").count()) === 0, "a file says who waits now");
  await other.close();
  file.close();
});

const code = await finish();
await browser.close();
process.exit(code);
