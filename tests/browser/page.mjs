// The page in a browser: one-file report from disk, brushing, links, keys, tables, both themes, axe; and from a server.
import { addressOf, axeSource, drawn, launch, missing, open, serve, writeReport } from "./browser.mjs";
import { expect, finish, plain, skip, test } from "./check.mjs";
import { makeBundle, sliced } from "./fixture.mjs";

if (missing()) skip(missing());
const bundle = makeBundle();
const report = writeReport(bundle);
const browser = await launch();
const a = "3f2a".repeat(8);
const b = "77ab".repeat(8);
const text = async (page, selector) => plain(await page.locator(selector).first().textContent());
const samplesOf = async (page) => Number((await text(page, ".fact:has-text('samples') b")).replace(/[^0-9]/g, ""));

test("a report file opens from disk, asks for nothing else, and shows the plan's costs", async () => {
  const page = await open(browser, report.url);
  await page.waitForSelector(".node");
  expect((await page.locator(".node").count()) === 8, "eight operators");
  const share = bundle.responses["executions/all/profile"].plans[0].operators[3].share;
  const shown = await text(page, "#plan-node-4 .share");
  expect(shown === `${(share * 100).toFixed(1)} %`, `share ${shown}`);
  expect(page.asked.filter((url) => !url.startsWith("data:")).length === 1, `asked for ${page.asked}`);
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
});

test("brushing narrows every view, the address says so, and the address alone leads back there", async () => {
  const page = await open(browser, report.url);
  const before = await samplesOf(page);
  const chart = page.locator("#card-activity canvas");
  const box = await chart.boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 40, { steps: 8 });
  await page.mouse.up();
  await page.waitForSelector("[data-filter=time]");
  await page.waitForFunction(() => /from=\d+&to=\d+/.test(location.href));
  const after = await samplesOf(page);
  expect(after < before && after > 0, `${after} of ${before} samples`);
  const [, from, to] = /from=(\d+)&to=(\d+)/.exec(await addressOf(page)) ?? [];
  const { time_ns } = bundle.responses["executions/all/samples"];
  const wanted = time_ns.filter((time) => time >= Number(from) && time < Number(to)).length;
  expect(after === wanted, `${after} shown, ${wanted} in [${from}, ${to})`);
  expect((await text(page, "#plan-node-6 .share")) === "0 %", "customer was scanned long before");
  const again = await open(browser, await addressOf(page));
  expect((await samplesOf(again)) === after, "the linked state differs");
  await again.keyboard.press("Escape");
  await again.waitForSelector("[data-filter=time]", { state: "detached" });
  expect((await samplesOf(again)) === before, "Escape takes the choice away");
  await again.close();
  await page.close();
});

test("an operator, its lines and its machine code are linked both ways", async () => {
  const page = await open(browser, `${report.url}#/execution/all?tab=code`);
  await page.locator("#plan-node-8").click();
  await page.waitForSelector("[data-filter=op]");
  await page.waitForSelector(".codeline.instruction:not(.dimmed)");
  expect((await page.locator(".codeline.instruction.dimmed").count()) > 0, "lines of others are dimmed");
  await page.keyboard.press("Escape");
  const line = page.locator(".codeline.instruction:has(.cost:not(:empty))").first();
  await line.click();
  await page.waitForFunction(() => /op=\d+/.test(location.hash) && /line=\d+/.test(location.hash));
  const state = new URLSearchParams((await addressOf(page)).split("?")[1]);
  const [chosen, number] = [state.get("op"), Number(state.get("line"))];
  const wanted = bundle.responses["executions/all/listing"].lines[number - 1].operator_keys[0];
  expect(wanted.endsWith(`:${chosen}`), `line ${number} is of ${wanted}, not of ${chosen}`);
  expect((await page.locator(".node.selected").count()) === 1, "the line's operator is chosen in the plan");
  await page.waitForSelector(".pane:nth-child(2) .codeline.chosen");
  await page.close();
});

test("the plan and the charts work by keyboard", async () => {
  const page = await open(browser, report.url);
  await page.locator("#plan-node-1").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#plan-node-3.selected");
  await page.locator("#card-activity .chart").focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector("[data-filter=time]");
  const first = await addressOf(page);
  await page.keyboard.press("ArrowRight");
  // The address follows the key in its own time: if it never does, this fails.
  await page.waitForFunction((before) => location.href !== before, first);
  await page.keyboard.press("6");
  await page.waitForSelector("#card-iterations");
  await page.keyboard.press("]");
  await page.waitForSelector("[data-filter=iter]");
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  for (const key of ["w s", "a d", "f", "m", "t", "/", "Esc"]) expect((await page.locator(`dialog kbd:text-is('${key}')`).count()) === 1, `the list lacks the key ${key}`);
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog[open]", { state: "detached" });
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  const before = await theme();
  await page.keyboard.press("t");
  await page.waitForFunction((was) => document.documentElement.dataset.theme !== was, before);
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
});

// Of a canvas: pixels for each pixel of the page, across and down.
const ratioOf = (page, selector) => page.locator(selector).evaluate((canvas) => [canvas.width / canvas.clientWidth, canvas.height / canvas.clientHeight]);

test("a chart is as high as what it shows, on every screen", async () => {
  for (const deviceScaleFactor of [1, 2]) {
    const page = await open(browser, report.url, { deviceScaleFactor });
    const heights = new Set();
    const check = async (card, what) => {
      await drawn(page);
      const [across, down] = await ratioOf(page, `${card} canvas`);
      expect(Math.abs(across - deviceScaleFactor) < 0.02 && Math.abs(down - deviceScaleFactor) < 0.02, `${what}: ${across} across and ${down} down, of ${deviceScaleFactor}`);
      heights.add(await page.locator(`${card} canvas`).evaluate((canvas) => canvas.clientHeight));
    };
    for (const lanes of ["Pipelines", "Threads", "Operators"]) {
      await page.locator(`#card-activity button:text-is('${lanes}')`).click();
      await page.waitForSelector(`#card-activity button[aria-pressed=true]:text-is('${lanes}')`);
      await check("#card-activity", lanes);
    }
    expect(heights.size === 3, "the lanes have one height: nothing was checked");
    await page.locator("#card-flame canvas").scrollIntoViewIfNeeded();
    const box = await page.locator("#card-flame canvas").boundingBox();
    await page.mouse.click(box.x + 20, box.y + 3 * 22 + 10);
    await page.waitForFunction(() => location.hash.includes("zoom="));
    await check("#card-flame", "a zoomed flame graph");
    await page.close();
  }
});

// Of the plan's texts: the least size in pixels, how many there are, and which leave their box or touch another one.
const textsOfPlan = (page) => page.evaluate(() => {
  const out = { least: Infinity, count: 0, wrong: [] };
  for (const node of document.querySelectorAll(".node")) {
    const frame = node.querySelector(".frame").getBoundingClientRect();
    const boxes = [...node.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect(), Number.parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a]);
    boxes.forEach(([text, box, size], i) => {
      out.count++;
      out.least = Math.min(out.least, size);
      if (box.left < frame.left || box.right > frame.right + 0.5 || box.top < frame.top - 2 || box.bottom > frame.bottom + 2) out.wrong.push(`"${text}" leaves its box`);
      for (const [other, at] of boxes.slice(i + 1)) if (at.left < box.right - 0.5 && box.left < at.right - 0.5 && at.top < box.bottom - 4 && box.top < at.bottom - 4) out.wrong.push(`"${text}" touches "${other}"`);
    });
  }
  return out;
});

test("the plan's text can be read at every size, and lies within its box", async () => {
  const deep = structuredClone(bundle);
  const plan = deep.responses["executions/all/profile"].plans[0];
  for (let id = 9; id <= 30; id++) {
    plan.operators.push({ ...plan.operators[3], id, inputs: [], name: `Hash join with a long name ${id}` });
    plan.operators[id - 2].inputs.push(id);
  }
  const file = writeReport(deep);
  for (const [viewport, url] of [[{ width: 1440, height: 900 }, report.url], [{ width: 1440, height: 900 }, file.url], [{ width: 900, height: 700 }, file.url]]) {
    const page = await open(browser, url, { viewport });
    await page.waitForSelector(".node");
    const box = page.locator(".plangraph");
    const sizes = () => box.evaluate((element) => [element.scrollWidth - element.clientWidth, element.scrollHeight - element.clientHeight]);
    const check = async (what, someText = true) => {
      await drawn(page);
      const { least, count, wrong } = await textsOfPlan(page);
      expect(least >= 11, `${what}: text of ${least} px`);
      expect(count > 0 || !someText, `${what}: no text`);
      expect(wrong.length === 0, `${what}: ${wrong.slice(0, 3).join("; ")}`);
    };
    await check("at first");
    expect((await page.locator(".node .share").count()) === (await page.locator(".node").count()), "a share is missing at first");
    const root = await page.locator("#plan-node-1").boundingBox();
    const place = await box.boundingBox();
    expect(root.y >= place.y && root.x >= place.x && root.x + root.width <= place.x + place.width, "the root is out of sight at first");
    await page.keyboard.press("f");
    await check("as a whole", false);
    expect((await sizes()).every((more) => more <= 0), `the whole plan leaves its place by ${await sizes()}`);
    for (let step = 0; step < 6; step++) {
      await page.locator("button[aria-label=Larger]").click();
      await check(`larger, step ${step}`, false);
    }
    expect((await sizes())[1] > 0, "it does not grow");
    const scale = new URLSearchParams((await addressOf(page)).split("?")[1]).get("scale");
    const again = await open(browser, await addressOf(page), { viewport });
    await again.waitForSelector(".node");
    expect((await again.locator(".plangraph svg").getAttribute("width")) === (await page.locator(".plangraph svg").getAttribute("width")), `the link has another size than ${scale}`);
    await again.close();
    // Dragged, it moves, and nothing is chosen.
    await page.mouse.move(place.x + place.width / 2, place.y + place.height / 2);
    const top = await box.evaluate((element) => element.scrollTop);
    await page.mouse.down();
    await page.mouse.move(place.x + place.width / 2, place.y + place.height / 2 + (top > 0 ? 40 : -40), { steps: 4 });
    await page.mouse.up();
    expect((await box.evaluate((element) => element.scrollTop)) !== top, "it cannot be moved");
    expect(!(await addressOf(page)).includes("op="), "what was dragged was clicked");
    expect(page.wrong.length === 0, page.wrong.join("; "));
    await page.close();
  }
  file.remove();
});

test("rows that an engine measured stand beside the estimate, and a plan without any has no column of them", async () => {
  const responses = structuredClone(bundle.responses);
  const { operators } = responses["executions/all/profile"].plans[0];
  operators[3].attributes = operators[3].attributes.filter(({ key }) => key !== "measured_rows");
  const file = writeReport({ ...bundle, responses });
  for (const [url, columns] of [[report.url, ["estimated rows", "measured rows"]], [file.url, ["estimated rows"]]]) {
    const page = await open(browser, `${url}#/execution/all?table=plan`);
    await page.waitForSelector("#card-plan table");
    const found = (await page.locator("#card-plan th").allTextContents()).filter((name) => name.includes("rows"));
    expect(found.join() === columns.join(), found.join());
    await page.close();
  }
  file.remove();
});

test("a share is on one line, however little room there is", async () => {
  const few = structuredClone(bundle);
  // What runs last is next to nothing.
  few.responses["executions/all/samples"].weight = few.responses["executions/all/samples"].weight.map((weight, i) => (i >= 3810 ? weight : weight * 1e3));
  const file = writeReport(few);
  const page = await open(browser, `${file.url}#/execution/all?tab=code&code=all`, { viewport: { width: 900, height: 700 } });
  await page.waitForSelector(".node");
  await page.locator(".codeline .cost:has-text('<')").first().waitFor();
  const broken = await page.evaluate(() => {
    const out = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const { textContent, parentElement } = walk.currentNode;
      for (const found of textContent.matchAll(/[<>]?\s?\d+(\.\d)?\s%/g)) {
        const range = document.createRange();
        range.setStart(walk.currentNode, found.index);
        range.setEnd(walk.currentNode, found.index + found[0].length);
        const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        out.push([tops.size, `${found[0]} in ${parentElement.className || parentElement.tagName}`]);
      }
    }
    return out;
  });
  expect(broken.some(([, text]) => text.startsWith("<")), "no share is small enough");
  const wrong = broken.filter(([lines]) => lines > 1);
  expect(wrong.length === 0, wrong.map(([, text]) => text).join("; "));
  await page.close();
  file.remove();
});

test("there is a table behind every chart, and it holds the same numbers", async () => {
  for (const [tab, cards] of [["flame", ["plan", "activity", "flame"]], ["code", ["code"]], ["memory", ["memory"]], ["threads", ["threads"]], ["iterations", ["iterations"]]]) {
    const page = await open(browser, `${report.url}#/execution/all?tab=${tab}`);
    for (const card of cards) {
      await page.locator(`#card-${card} header button[title="The same as a table"]`).click();
      await page.waitForSelector(`#card-${card} table`);
    }
    if (tab === "flame") {
      const row = await text(page, "#card-plan tbody tr:nth-child(4)");
      expect(row.includes((bundle.responses["executions/all/profile"].plans[0].operators[3].share * 100).toFixed(1)), row);
    }
    expect(page.wrong.length === 0, page.wrong.join("; "));
    await page.close();
  }
});

test("axe finds nothing serious, light and dark", async () => {
  const pages = ["#/execution/all", "#/execution/all?from=700000000&to=1500000000&left=600000000&right=1600000000&marks=900000000~1000000000", "#/execution/all?left=1000000000&right=1040000000&tab=threads", "#/execution/all?tab=functions&find=run", "#/execution/all?tab=functions&fn=tree&fun=weft:main", "#/execution/all?tab=functions&fn=list", "#/execution/all?tab=code&op=4", "#/execution/all?tab=memory", "#/execution/all?tab=threads&table=threads", "#/execution/all?tab=iterations", "#/execution/all?tab=about&table=plan,activity", "#/?x=1", `#/compare?a=${a}&b=${b}`, "#/fingerprint/9c1e"];
  for (const colorScheme of ["light", "dark"]) {
    for (const hash of pages) {
      const page = await open(browser, report.url + hash, { colorScheme, bypassCSP: true });
      await page.waitForTimeout(100);
      await page.evaluate(axeSource());
      const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      const serious = found.violations.filter((each) => each.impact === "serious" || each.impact === "critical");
      expect(serious.length === 0, `${colorScheme} ${hash}: ${serious.map((each) => `${each.id} ${each.nodes[0].target} ${each.nodes[0].failureSummary}`).join("; ")}`);
      await page.close();
    }
  }
});

test("a server's page works under its policy and follows what is live", async () => {
  const server = await serve(makeBundle({ live: true }));
  const page = await open(browser, server.url);
  await page.waitForSelector("text=Cost by query");
  await page.locator("a:has-text('tpch-3')").first().waitFor();
  await page.locator("section[aria-label=Executions] tbody a:has-text('tpch-3')").first().click();
  await page.waitForSelector(".node");
  expect(/#\/execution\/3f2a/.test(await addressOf(page)), await addressOf(page));
  for (const tab of ["code", "memory", "threads", "iterations"]) {
    await page.locator(`#tab-${tab}`).click();
    await page.waitForSelector(`#card-${tab} canvas, #card-${tab} .listing`);
  }
  await page.goBack();
  expect(page.asked.every((url) => url.startsWith(server.url) || url.startsWith("data:")), page.asked.join(" "));
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  server.close();
});

test("a profile without samples one by one keeps its sums, and says why there is no brush", async () => {
  const responses = { ...bundle.responses, "executions/all/samples": { error: { kind: "exhausted", message: "more than 200000 samples" } } };
  const file = writeReport({ ...bundle, responses });
  const page = await open(browser, file.url);
  await page.waitForSelector(".node");
  expect((await page.locator("text=more than 200000 samples").count()) === 1, "the reason is not shown");
  expect((await samplesOf(page)) === 4000, "the sums are those of the report");
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  file.remove();
});

const drag = async (page, from, to) => {
  const box = await page.locator("#card-activity canvas").boundingBox();
  await page.mouse.move(box.x + box.width * from, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, box.y + 40, { steps: 8 });
  await page.mouse.up();
  await page.waitForSelector("[data-filter=time]");
  await page.waitForFunction(() => /from=\d+&to=\d+/.test(location.href));
};

test("sums over slices of time are brushed in whole slices, and the page says so", async () => {
  const slices = sliced(bundle.responses["executions/all/samples"], 20_000_000);
  const server = await serve({ ...bundle, responses: { ...bundle.responses, "executions/all/samples": slices } }, (path) => (path.endsWith("/timeline") ? { workers: null } : undefined));
  const page = await open(browser, `${server.url}#/execution/all?lanes=thread&tid=815`);
  // Single samples of the brushed part take their time, so that the slices stay to be looked at.
  await page.route(/samples\?.*from_ns/, () => undefined);
  await page.waitForSelector(".sliced");
  expect((await text(page, ".sliced")).includes("slices of 20.0 ms"), await text(page, ".sliced"));
  expect((await samplesOf(page)) === 4000, "a thread cannot be chosen");
  expect((await page.locator("#card-activity button:has-text('Threads')").count()) === 0, "nor have a lane");
  await drag(page, 0.2, 0.6);
  const [, from, to] = /from=(\d+)&to=(\d+)/.exec(await addressOf(page)) ?? [];
  let wanted = 0;
  slices.time_ns.forEach((time, i) => { if (time >= Number(from) && time < Number(to)) wanted += slices.samples[i]; });
  expect((await samplesOf(page)) === wanted && wanted > 0 && wanted < 4000, `${await samplesOf(page)} shown, ${wanted} in the slices`);
  await page.locator("#tab-threads, [aria-controls=details]:has-text('Threads')").first().click();
  await page.waitForSelector(".lane.thread");
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  server.close();
});

test("the sums are there before the samples", async () => {
  const server = await serve(bundle);
  const page = await browser.newPage();
  let answer = () => {};
  const held = new Promise((ready) => { answer = ready; });
  await page.route("**/samples*", async (route) => { await held; await route.continue(); });
  await page.goto(`${server.url}#/execution/all`);
  await page.waitForSelector(".node");
  expect((await samplesOf(page)) === 4000, "the sums are those of the report");
  expect((await page.locator("#card-activity canvas").count()) === 0, "nothing over time yet");
  expect((await page.locator("text=reading the samples").count()) === 1, "the page says that they follow");
  answer();
  await page.waitForSelector("#card-activity canvas");
  expect((await page.locator("text=reading the samples").count()) === 0, "and then no more");
  await page.close();
  server.close();
});

test("an empty, a broken and a foreign file say what is wrong", async () => {
  const none = { error: { kind: "not_found", message: "this selection has no samples" } };
  for (const [what, data, wanted] of [
    ["empty", { ...bundle, responses: { "executions/all/profile": none, "executions/all/samples": none } }, "has no samples"],
    ["newer", { ...bundle, version: 9 }, "versions 1 and 2"],
    ["foreign", { format: "x" }, "no Tailor bundle"],
    ["broken", { ...bundle, responses: { ...bundle.responses, "executions/all/profile": { plans: 7 } } }, "cannot show"],
  ]) {
    const file = writeReport(data);
    const page = await open(browser, file.url);
    await page.locator(`.message.error:has-text("${wanted}")`).waitFor().catch(() => { throw new Error(`${what}: nothing says "${wanted}"`); });
    await page.close();
    file.remove();
  }
});

const code = await finish();
await browser.close();
report.remove();
process.exit(code);
