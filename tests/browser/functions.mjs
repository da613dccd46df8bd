// Functions in the page: of a program without a plan, and beside a plan; search, trees by keyboard, two profiles.
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { addressOf, drawn, launch, missing, open, serve, writeReport } from "./browser.mjs";
import { expect, finish, near, plain, skip, test } from "./check.mjs";
import { makeBundle } from "./fixture.mjs";
import { functionsAnswer, planless, stacksOf } from "./functions_fixture.mjs";

if (missing()) skip(missing());
const browser = await launch();
const bundle = makeBundle();
const profile = bundle.responses["executions/all/profile"];
const owners = bundle.responses["executions/all/functions"].owners;
const text = async (page, selector) => plain(await page.locator(selector).first().textContent());
const found = (page) => text(page, ".found");

// Stacks of a plain program: `part` of its time is in sort.
const rowsOf = (part, count = 2000) => Array.from({ length: count }, (_, i) => {
  const stack = ["_start|prog", "main|prog"];
  if (i % 100 < part * 100) stack.push("sort|prog", ...(i % 2 ? ["memcmp|libc.so.6"] : []));
  else stack.push("scan|prog", ...(i % 10 === 0 ? ["read|libc.so.6", "do_read|[kernel]"] : []));
  return { stack, weight: 1e6, owner: "unattributed:not_registered", time: i * 1e6, tid: 815 + (i % 3) };
});
const program = (part, count) => planless(bundle, rowsOf(part, count));

test("a program without a plan shows its functions first, and nobody is blamed", async () => {
  const report = writeReport(program(0.4));
  const page = await open(browser, report.url);
  await page.waitForSelector("#card-functions canvas");
  expect((await page.locator("[role=tab][aria-selected=true]").textContent()) === "Functions", "the tab");
  expect((await page.locator("[role=tab]").allTextContents()).join() === "Functions,Memory,Threads,Recording", "tabs that have nothing to show are offered");
  const strip = await text(page, ".trust");
  expect(!/unattributed/.test(strip) && /user code/.test(strip) && /kernel/.test(strip), strip);
  const main = await page.locator("main").innerText();
  expect(!/unattributed/i.test(main), "somebody is told that all of it is unattributed");
  expect((await page.locator(".lane").count()) === 3, "threads are the lanes");
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  report.remove();
});

test("a server's file without executions leads to its functions", async () => {
  const server = await serve(program(0.4));
  const page = await open(browser, server.url);
  await page.waitForSelector("#card-functions canvas");
  expect(/#\/execution\/all/.test(await addressOf(page)), await addressOf(page));
  await page.close();
  server.close();
});

test("/ searches functions from anywhere, and says how much is found", async () => {
  const report = writeReport(program(0.4));
  const page = await open(browser, `${report.url}#/execution/all?tab=threads`);
  await page.waitForSelector("#card-threads");
  await page.keyboard.press("/");
  await page.waitForSelector("#card-functions .find:focus");
  await page.keyboard.type("sort");
  await page.waitForSelector(".found");
  expect(/^1 frames, 40\.0 % of all samples/.test(await found(page)), await found(page));
  await page.keyboard.type("x");
  await page.waitForFunction(() => /nothing found/.test(document.querySelector(".found").textContent));
  await page.keyboard.press("Escape");
  await page.waitForSelector(".found", { state: "detached" });
  expect(!/find=/.test(await addressOf(page)), "the address keeps what is not looked for any more");
  await page.close();
  report.remove();
});

// Where the flame graph draws what.
const colorAt = (page, part, row) => page.locator("#card-functions canvas").evaluate((canvas, [x, y]) => {
  const ratio = canvas.width / canvas.clientWidth;
  return [...canvas.getContext("2d").getImageData(Math.floor(x * canvas.width), Math.floor((y * 22 + 4) * ratio), 1, 1).data].join();
}, [part, row]);
const clickFlame = async (page, part, row) => {
  await drawn(page);
  const canvas = page.locator("#card-functions canvas");
  const { width } = await canvas.boundingBox();
  await canvas.click({ position: { x: width * part, y: row * 22 + 11 } });
};

test("a click in the flame graph zooms, and chooses the function", async () => {
  const report = writeReport(program(0.4));
  const page = await open(browser, report.url);
  await page.locator("#card-functions canvas").scrollIntoViewIfNeeded();
  // Below main lie scan (60 %) and sort (40 %).
  await clickFlame(page, 0.8, 3);
  await page.waitForSelector(".functiondetail h3:text-is('sort')");
  expect(plain(await page.locator("#card-functions .crumbs button").last().textContent()) === "sort 40.0 %", "the path");
  expect(/own code 20\.0 %.*with callees 40\.0 %/.test(await text(page, ".functiondetail p")), await text(page, ".functiondetail p"));
  const again = await open(browser, await addressOf(page));
  await again.waitForSelector(".functiondetail h3:text-is('sort')");
  await again.locator("#card-functions .crumbs button").first().click();
  await again.waitForFunction(() => !/fzoom=/.test(location.href));
  await again.close();
  await page.close();
  report.remove();
});

test("a search leaves bright what it finds, and nothing else", async () => {
  const report = writeReport(program(0.4));
  const page = await open(browser, report.url);
  await page.waitForSelector("#card-functions canvas");
  await drawn(page);
  const before = [await colorAt(page, 0.3, 3), await colorAt(page, 0.9, 3)];
  await page.keyboard.press("/");
  await page.keyboard.type("sort");
  await page.waitForSelector(".found");
  await drawn(page);
  const after = [await colorAt(page, 0.3, 3), await colorAt(page, 0.9, 3)];
  expect(before[0] !== after[0], "scan is as bright as before");
  expect(before[1] === after[1], "sort is not as bright as before");
  await page.close();
  report.remove();
});

test("the call trees work by keyboard, as ARIA's trees do", async () => {
  const report = writeReport(program(0.4));
  const page = await open(browser, `${report.url}#/execution/all?fn=tree`);
  const items = page.locator("[role=tree] [role=treeitem]");
  await items.first().waitFor();
  expect((await page.locator("[role=treeitem][tabindex='0']").count()) === 1, "one row is reached by Tab");
  const focused = () => page.evaluate(() => document.activeElement.querySelector(".what")?.textContent ?? "");
  await items.first().focus();
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => document.querySelectorAll("[role=treeitem]").length === 1);
  expect((await items.first().getAttribute("aria-expanded")) === "false", "closed");
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.querySelectorAll("[role=treeitem]").length > 1);
  await page.keyboard.press("ArrowRight");
  expect(/main/.test(await focused()), await focused());
  await page.keyboard.press("ArrowDown");
  expect(/scan/.test(await focused()), await focused());
  await page.keyboard.press("*");
  await page.keyboard.press("End");
  const last = await focused();
  expect(/memcmp/.test(last), last);
  expect((await page.evaluate(() => document.activeElement.getAttribute("aria-level"))) === "4", "its level");
  await page.keyboard.press("ArrowLeft");
  expect(/sort/.test(await focused()), "from a leaf to its caller");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".functiondetail h3:text-is('sort')");
  await page.keyboard.press("Home");
  expect(/_start/.test(await focused()), await focused());
  // The keys of charts are not meant here.
  expect(!/from=|left=/.test(await addressOf(page)), await addressOf(page));
  await page.locator("button:text-is('Callers')").click();
  await page.waitForFunction(() => /Functions by their own code/.test(document.querySelector("[role=tree]")?.getAttribute("aria-label") ?? ""));
  expect(/^ *▸ ?scan/.test((await items.first().locator(".what").textContent()).trim()) || /scan/.test(await items.first().locator(".what").textContent()), "the dearest own code comes first");
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  report.remove();
});

test("tables of functions and libraries have the numbers of the answer", async () => {
  const report = writeReport(program(0.4));
  const page = await open(browser, `${report.url}#/execution/all?fn=list`);
  const row = page.locator("#card-functions tbody tr", { hasText: "memcmp" });
  await row.waitFor();
  const cells = (await row.locator("td").allTextContents()).map(plain);
  expect(cells[0] === "memcmp" && cells[1] === "libc.so.6" && cells[2] === "20.0 %" && cells[4] === "20.0 %" && cells[6] === "400", cells.join("; "));
  expect(/^18\.\d–21\.\d %$/.test(cells[3]), cells[3]);
  await page.locator("button:text-is('Libraries')").click();
  const library = page.locator("#card-functions tbody tr", { hasText: "libc.so.6" });
  await library.waitFor();
  expect(/20\.0/.test(plain(await library.textContent())), await library.textContent());
  await library.click();
  await page.waitForFunction(() => /fn=list/.test(location.href) && /find=libc/.test(location.href));
  expect((await page.locator("#card-functions tbody tr").count()) === 2, "memcmp and read");
  await page.close();
  report.remove();
});

// As a server would: functions of what the parameters choose.
function answerOf(asked) {
  const rows = stacksOf(bundle.responses["executions/all/samples"]);
  return (path, parameters) => {
    if (!path.endsWith("/functions")) return undefined;
    asked.push(Object.fromEntries(parameters));
    const number = (key) => (parameters.has(key) ? Number(parameters.get(key)) : null);
    const [from, to, thread, operator] = ["from_ns", "to_ns", "thread", "operator"].map(number);
    const kept = rows.filter((row) => (from === null || row.time >= from) && (to === null || row.time < to) && (thread === null || row.tid === thread) && (operator === null || row.owner === `operator:812.5512.7:${operator}`));
    return functionsAnswer(kept, { source: profile.source, owners: operator === null ? owners : [] });
  };
}

test("beside a plan, functions are those of the chosen operator, time and thread", async () => {
  const asked = [];
  const server = await serve(makeBundle(), answerOf(asked));
  const page = await open(browser, `${server.url}#/execution/all?tab=functions&fn=list`);
  const samples = async () => Number((await text(page, "#card-functions .note")).match(/([\d.]+)( k)? samples/)[1]);
  await page.waitForSelector("#card-functions tbody tr");
  near(await samples(), profile.samples, "all samples");
  const box = [await page.locator("#card-plan").boundingBox(), await page.locator("#card-functions").boundingBox()];
  expect(box[0].x + box[0].width <= box[1].x, "plan and functions stand side by side");
  const join = profile.plans[0].operators[3];
  await page.locator("#plan-node-4").click();
  await page.waitForFunction(() => /only Hash join/.test(document.querySelector("#card-functions .note").textContent));
  await page.waitForFunction(() => !/reading/.test(document.querySelector("#card-functions .note").textContent));
  near(await samples(), join.samples, "the operator's samples");
  expect(asked.at(-1).operator === "4" && asked.at(-1).plan === "812.5512.7", JSON.stringify(asked.at(-1)));
  await page.keyboard.press("Escape");
  await page.evaluate(() => { location.hash = "#/execution/all?tab=functions&fn=list&from=700000000&to=1500000000&tid=816"; });
  await page.waitForFunction(() => !/reading/.test(document.querySelector("#card-functions .note").textContent));
  const { time_ns, tid } = bundle.responses["executions/all/samples"];
  const wanted = time_ns.filter((time, i) => time >= 7e8 && time < 1.5e9 && tid[i] === 816).length;
  await page.waitForFunction((count) => document.querySelector("#card-functions .note").textContent.startsWith(`${count} samples`), wanted);
  expect(asked.at(-1).from_ns === "700000000" && asked.at(-1).thread === "816", JSON.stringify(asked.at(-1)));
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  server.close();
});

test("a chosen function says whose it was, and leads to the operator", async () => {
  const server = await serve(makeBundle(), answerOf([]));
  const page = await open(browser, `${server.url}#/execution/all?tab=functions&fn=list`);
  await page.locator("#card-functions tbody tr", { hasText: "pipeline_3" }).first().click();
  const table = page.locator(".functiondetail table");
  await table.waitFor();
  const names = (await table.locator("tbody tr td:first-child").allTextContents()).map((each) => plain(each).trim());
  expect(names.some((each) => each.startsWith("Hash join")) && names.some((each) => each.startsWith("Scan")), names.join("; "));
  const shares = (await table.locator("tbody tr td:nth-child(3)").allTextContents()).map((each) => parseFloat(each));
  near(shares.reduce((a, b) => a + b, 0), 100, "the shares of all operators", 0.003);
  await table.locator("tbody tr", { hasText: "Hash join" }).first().click();
  await page.waitForFunction(() => /op=4/.test(location.href));
  await page.waitForSelector("#plan-node-4.selected");
  await page.close();
  server.close();
});

test("a report file says that its functions are of the whole view", async () => {
  const report = writeReport(bundle);
  const page = await open(browser, `${report.url}#/execution/all?tab=functions&op=4`);
  await page.waitForSelector("text=functions of the whole view only");
  await page.keyboard.press("Escape");
  await page.waitForSelector("text=functions of the whole view only", { state: "detached" });
  await page.close();
  report.remove();
});

test("another execution: width is now, colour is a change beyond chance", async () => {
  const a = "3f2a".repeat(8);
  const responses = structuredClone(makeBundle().responses);
  const source = profile.source;
  responses["executions/all/functions"] = functionsAnswer(rowsOf(0.4), { source });
  responses[`executions/${a}/functions`] = functionsAnswer(rowsOf(0.1), { source });
  const report = writeReport({ ...bundle, responses });
  const page = await open(browser, `${report.url}#/execution/all?tab=functions`);
  await page.locator("#card-functions select").selectOption(a);
  await page.waitForSelector("text=larger share");
  expect((await addressOf(page)).includes(`with=${a}`), await addressOf(page));
  await drawn(page);
  const [root, scan, sort] = [await colorAt(page, 0.3, 1), await colorAt(page, 0.3, 3), await colorAt(page, 0.9, 3)];
  const [red, , blue] = sort.split(",").map(Number);
  expect(red > blue + 60, `sort grew, and is drawn ${sort}`);
  const [red2, , blue2] = scan.split(",").map(Number);
  expect(blue2 > red2 + 30, `scan shrank, and is drawn ${scan}`);
  const [red3, , blue3] = root.split(",").map(Number);
  expect(Math.abs(red3 - blue3) < 30, `_start is the same, and is drawn ${root}`);
  await page.locator("#card-functions button:text-is('Functions')").click();
  const row = page.locator("#card-functions tbody tr", { hasText: "sort" });
  await row.waitFor();
  const cells = (await row.locator("td").allTextContents()).map(plain);
  expect(cells[2] === "5.0 %" && cells[3] === "20.0 %" && /● \+15\.0 points/.test(cells[4]), cells.join("; "));
  const start = (await page.locator("#card-functions tbody tr", { hasText: "_start" }).locator("td").allTextContents()).map(plain);
  expect(!/●/.test(start[4]), start.join("; "));
  await page.close();
  report.remove();
});

test("a report file of the reader's is compared with, and one that is none is refused", async () => {
  const server = await serve(program(0.4));
  const report = writeReport(program(0.1));
  const folder = dirname(fileURLToPath(report.url));
  const page = await open(browser, `${server.url}#/execution/all`);
  await page.waitForSelector("#card-functions canvas");
  await page.setInputFiles("#card-functions input[type=file]", fileURLToPath(report.url));
  await page.waitForSelector("text=larger share");
  await page.waitForSelector("#card-functions option:text-is('report.html')", { state: "attached" });
  const other = join(folder, "other.html");
  writeFileSync(other, "<script>window.hacked = 1</script><p>{}");
  await page.setInputFiles("#card-functions input[type=file]", other);
  await page.waitForSelector("#card-functions .message.error");
  expect(/no report file/.test(await text(page, "#card-functions .message.error")), await text(page, "#card-functions .message.error"));
  expect((await page.evaluate(() => globalThis.hacked)) === undefined, "a script of the file ran");
  // Nothing of the file is kept in the address: whoever opens it is told.
  const again = await open(browser, await addressOf(page));
  await again.waitForSelector("text=is to be opened again");
  await again.close();
  // 404 is the answer of a view that has nothing to show, and the browser says so.
  const wrong = page.wrong.filter((each) => !each.includes("404"));
  expect(wrong.length === 0, wrong.join("; "));
  await page.close();
  report.remove();
  server.close();
});

test("a profile that cannot answer says why", async () => {
  const gone = program(0.4);
  gone.responses["executions/all/functions"] = { error: { kind: "unavailable", message: "the deadline passed" } };
  const report = writeReport(gone);
  const page = await open(browser, report.url);
  await page.waitForSelector("#card-functions >> text=the deadline passed");
  await page.close();
  report.remove();
});

test("nothing of it is cut off on small screens", async () => {
  const report = writeReport(program(0.4));
  for (const [width, height] of [[1440, 900], [900, 700]]) {
    for (const fn of ["flame", "tree", "callers", "list", "libraries"]) {
      const page = await open(browser, `${report.url}#/execution/all?fn=${fn}&fun=prog:sort`, { viewport: { width, height } });
      await page.waitForSelector(".functiondetail h3");
      const tabs = await page.locator("[role=tab]").evaluateAll((all) => all.every((tab) => { const { top, bottom, right } = tab.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight && right <= innerWidth; }));
      expect(tabs, `tabs at ${width}x${height}`);
      expect((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, `${fn} is wider than ${width}`);
      await page.close();
    }
  }
  report.remove();
});

const code = await finish();
await browser.close();
process.exit(code);
