// Zoom in time, on a recorded profile: the wheel, keys and the mouse change what is in sight, every view is of that part, and
// a dragged range has the sums that `tailor report` computes by itself.
import { addressOf, hoverUntil, launch, missing } from "./browser.mjs";
import { expect, finish, plain, samplingDenied, skip, test } from "./check.mjs";
import { ask, goTo, record, run, unbuilt, withServer } from "./recorded.mjs";
import { Owners } from "../../viewer/web/src/model/owners.ts";
import { SampleTable } from "../../viewer/web/src/model/samples.ts";
import { Workers } from "../../viewer/web/src/model/workers.ts";

if (missing()) skip(missing());
if (samplingDenied()) skip(samplingDenied());
if (unbuilt()) skip(unbuilt());
const options = ["-e", "cpu-clock", "-e", "off-cpu"];
const { profile } = record("tpch-3", 1000, ...options); // more waits of a thread than are in an answer
const few = record("tpch-3", 40, ...options).profile; // so short that all of its waits are in an answer
const browser = await launch();
const withPage = (hash, use, { file = profile, ...options } = {}) => withServer(browser, file, async (page) => {
  await goTo(page, hash);
  await page.waitForSelector("#card-activity canvas");
  await use(page);
}, options);
// What `tailor report` computes of a part of the time.
const reportOf = (from, to) => JSON.parse(run("tailor", "report", profile, "--source", "cpu-clock", "--from", `${from}ns`, "--to", `${to}ns`, "--of", "everything", "--json"));

const canvasOf = (page) => page.locator("#card-activity canvas");
const samplesOf = async (page) => Number((await page.locator(".fact:has-text('samples') b").first().textContent()).replace(/[^0-9]/g, ""));
const stateOf = async (page) => new URLSearchParams((await addressOf(page)).split("?")[1] ?? "");
const numbersOf = async (page, ...names) => {
  const state = await stateOf(page);
  return names.map((name) => (state.has(name) ? Number(state.get(name)) : null));
};
// The address follows the page in its own time.
const until = (page, what, ...args) => page.waitForFunction(what, ...args).catch((error) => { throw new Error(`${what}: ${error.message}`); });
const sightWithin = (page, length) => until(page, (most) => {
  const state = new URLSearchParams(location.hash.split("?")[1]);
  return state.has("left") && Number(state.get("right")) - Number(state.get("left")) < most;
}, length);
const pointAt = async (page, part, y = 40) => {
  const box = await canvasOf(page).boundingBox();
  await page.mouse.move(box.x + box.width * part, box.y + y);
};
const drag = async (page, from, to) => {
  await pointAt(page, from);
  await page.mouse.down();
  const box = await canvasOf(page).boundingBox();
  await page.mouse.move(box.x + box.width * to, box.y + 40, { steps: 6 });
  await page.mouse.up();
  await until(page, () => /from=\d+&to=\d+/.test(location.hash));
};
const timesOf = async (page) => {
  const samples = await ask(page, "executions/all/samples");
  const source = samples.sources.findIndex((each) => each.name === "cpu-clock");
  return samples.time_ns.filter((_, i) => samples.cells[samples.cell[i]].source === source);
};
const within = (times, from, to) => times.filter((time) => time >= from && time < to).length;

test("the wheel zooms at the mouse, every sum is of what is in sight, and the address leads back there", () => withPage("#/execution/all", async (page) => {
  const times = await timesOf(page);
  const [first, last] = [0, Math.max(...times)];
  await pointAt(page, 0.75);
  await page.mouse.wheel(0, -600);
  await sightWithin(page, (last - first) * 0.5);
  const [left, right] = await numbersOf(page, "left", "right");
  const place = first + (last - first) * 0.75;
  expect(Math.abs((place - left) / (right - left) - 0.75) < 0.02, `what was under the mouse moved: ${left} to ${right} around ${place}`);
  await page.waitForSelector("[data-filter=sight]");
  expect((await samplesOf(page)) === within(times, left, right), `${await samplesOf(page)} shown, ${within(times, left, right)} in sight`);
  expect(within(times, left, right) < times.length, "the whole is in sight: nothing was checked");
  const shown = await samplesOf(page);
  await page.reload();
  await page.waitForSelector("[data-filter=sight]");
  await page.waitForSelector("#card-activity canvas");
  expect((await samplesOf(page)) === shown, "the link shows another part");
  // All the way back, and then the page scrolls.
  await pointAt(page, 0.75);
  await page.mouse.wheel(0, 5000);
  await page.waitForSelector("[data-filter=sight]", { state: "detached" });
  expect((await samplesOf(page)) === times.length, "zoomed out, it is not all");
  await page.mouse.wheel(0, 300);
  await until(page, () => scrollY > 0);
}));

test("w, s, a and d zoom and move, f shows all again", () => withPage("#/execution/all", async (page) => {
  await pointAt(page, 0.5);
  const press = async (key) => {
    const was = await addressOf(page);
    await page.keyboard.press(key);
    await until(page, (old) => location.href !== old, was);
    return numbersOf(page, "left", "right");
  };
  await press("w");
  const before = await press("w");
  const length = before[1] - before[0];
  const later = await press("d");
  expect(later[0] > before[0] && Math.abs(later[1] - later[0] - length) <= 2, `d: ${later} after ${before}`);
  const earlier = await press("a");
  expect(Math.abs(earlier[0] - before[0]) <= 4, `a: ${earlier} is not ${before}`);
  const wider = await press("s");
  expect(wider[1] - wider[0] > length * 1.2, `s: ${wider} after ${earlier}`);
  await page.keyboard.press("f");
  await page.waitForSelector("[data-filter=sight]", { state: "detached" });
  expect((await stateOf(page)).get("left") === null, "f leaves a part in sight");
}));

// What the table of the chosen time says, by the name of the operator.
const rowsOf = (page) => page.locator("#card-range tbody tr").evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent.replaceAll("\u00a0", " ").trim())));
const shareText = (share) => { const value = share * 100; return value === 0 ? "0 %" : value < 0.05 ? "< 0.1 %" : `${value >= 99.95 ? value.toFixed(0) : value.toFixed(1)} %`; };
const close = (text, value) => Math.abs(Number.parseFloat(text.replace("< ", "")) - value * 100) <= 0.1;

// Which of the report's operators the table says otherwise.
function differences(rows, answer) {
  const wrong = [];
  const plan = answer.plans[0];
  for (const operator of plan.operators.filter((each) => each.samples > 0)) {
    const found = rows.filter((row) => row[0].startsWith(operator.name) && row[1] !== "" && close(row[1], operator.share) && Number(row[3]) === Math.round(operator.samples * 10) / 10);
    const [low, high] = (found[0]?.[2] ?? "").replace(" %", "").split("–");
    if (found.length === 0 || !close(low, operator.share_low) || !close(high, operator.share_high)) wrong.push(`${operator.name} ${shareText(operator.share)} of ${operator.samples} samples: ${found[0] ?? "no row"}`);
  }
  return wrong;
}

test("a dragged range has a table with intervals, which are those of tailor report", () => withPage("#/execution/all?parts=all", async (page) => {
  expect((await page.locator("#card-range").count()) === 0, "there is a table of no range");
  await drag(page, 0.55, 0.8);
  await page.waitForSelector("#card-range tbody tr");
  const [from, to] = await numbersOf(page, "from", "to");
  const rows = await rowsOf(page);
  const answer = reportOf(from, to);
  const sampled = answer.plans[0].operators.filter((each) => each.samples > 0);
  expect(sampled.length > 1, `${sampled.length} operators in the range`);
  const wrong = differences(rows, answer);
  expect(wrong.length === 0, wrong.join("; "));
  expect((await samplesOf(page)) === answer.samples, `${await samplesOf(page)} and ${answer.samples} samples`);
  // Of another range it would be seen.
  const other = reportOf(from, Math.floor((from + to) / 2));
  expect(differences(rows, other).length > 0, "the comparison cannot fail");
  // Its row chooses the operator, and it goes away again.
  const name = sampled.toSorted((a, b) => b.weight - a.weight)[0].name;
  await page.locator(`#card-range tbody tr:has-text("${name}")`).first().click();
  await page.waitForSelector("[data-filter=op]");
  await page.keyboard.press("Escape");
  await page.waitForSelector("#card-range", { state: "detached" });
}));

test("f shows the chosen time from near, m marks it, and a mark leads back to it", () => withPage("#/execution/all", async (page) => {
  await drag(page, 0.6, 0.7);
  await page.waitForSelector("#card-range");
  const range = await numbersOf(page, "from", "to");
  await pointAt(page, 0.65);
  await page.keyboard.press("f");
  await until(page, ([from, to]) => location.hash.includes(`left=${from}`) && location.hash.includes(`right=${to}`), range);
  await page.keyboard.press("m");
  await page.waitForSelector("#card-marks tbody tr");
  expect(decodeURIComponent((await stateOf(page)).get("marks")) === range.join("~"), `${(await stateOf(page)).get("marks")} marks ${range}`);
  await page.keyboard.press("Escape");
  await page.waitForSelector("#card-range", { state: "detached" });
  expect((await page.locator("#card-marks tbody tr").count()) === 1, "the mark is gone with the choice");
  await page.locator("#card-marks tbody tr").click();
  await page.waitForSelector("#card-range");
  expect((await numbersOf(page, "from", "to")).join() === range.join(), "the mark chooses another time");
  await page.keyboard.press("m");
  await page.waitForSelector("#card-marks", { state: "detached" });
  // What an address says is not believed.
  await goTo(page, "#/execution/all?marks=5~1,x~y,1e3~2,99~100000000&left=1e999&right=-7");
  await page.waitForSelector("#card-marks");
  expect((await page.locator("#card-marks tbody tr").count()) === 1, "a mark that is none");
  expect((await page.locator("[data-filter=sight]").count()) === 0, "a part that is none");
}));

test("near enough, each sample is a box of its own, a double click shows one, and says what it is", () => withPage("#/execution/all?lanes=thread", async (page) => {
  const samples = await ask(page, "executions/all/samples");
  const source = samples.sources.findIndex((each) => each.name === "cpu-clock");
  const rows = samples.time_ns.map((time, i) => ({ time, tid: samples.tid[i], weight: samples.weight[i], source: samples.cells[samples.cell[i]].source })).filter((row) => row.source === source);
  const chosen = rows.toSorted((a, b) => a.time - b.time)[Math.floor(rows.length * 0.7)];
  const half = 20 * chosen.weight;
  await goTo(page, `#/execution/all?lanes=thread&left=${Math.floor(chosen.time - half)}&right=${Math.ceil(chosen.time + half)}`);
  await page.waitForSelector("#card-activity .note:has-text('each sample alone')");
  const tids = (await page.locator("#card-activity .lane .text").allTextContents()).map((text) => Number(/thread (\d+)/.exec(text)[1]));
  const lane = tids.indexOf(chosen.tid);
  expect(lane >= 0, `no lane of thread ${chosen.tid} in ${tids}`);
  const [left, right] = await numbersOf(page, "left", "right");
  // In the middle of its time.
  const y = 104 + 23 * lane + 14;
  const place = (box) => [box.x + (box.width * (chosen.time - chosen.weight / 2 - left)) / (right - left), box.y + y];
  await hoverUntil(page, canvasOf(page), place, ".tip:has-text('one sample')");
  const tip = plain(await page.locator(".tip").textContent());
  expect(tip.includes(`thread ${chosen.tid}`), tip);
  await page.mouse.dblclick(...place(await canvasOf(page).boundingBox()));
  await sightWithin(page, 2.2 * chosen.weight);
  const [begin, end] = await numbersOf(page, "left", "right");
  expect(begin <= chosen.time && end >= chosen.time - chosen.weight, `${begin} to ${end} is not the sample at ${chosen.time}`);
}));

test("threads show the waits of what is in sight, also where a thread has too many for one answer", () => withPage("#/execution/all?tab=threads", async (page) => {
  const all = await ask(page, "executions/all/threads");
  const last = Math.max(...all.threads.flatMap((row) => row.off_cpu.map((each) => each.to_ns)));
  const late = await ask(page, `executions/all/threads?from_ns=${Math.floor(last * 0.8)}`);
  const keyOf = (row, each) => `${row.tid} ${each.from_ns}`;
  const known = new Set(all.threads.flatMap((row) => row.off_cpu.map((each) => keyOf(row, each))));
  const waits = late.threads.flatMap((row) => row.off_cpu.map((each) => ({ row, each })));
  const found = waits.filter(({ row, each }) => each.to_ns > each.from_ns && each.from_ns > last * 0.8 && !known.has(keyOf(row, each)));
  expect(found.length > 0, "all waits are in one answer: nothing would be asked for");
  const { row, each } = found.toSorted((a, b) => b.each.to_ns - b.each.from_ns - (a.each.to_ns - a.each.from_ns))[0];
  const length = each.to_ns - each.from_ns;
  const asked = page.waitForResponse((response) => /\/threads\?.*from_ns/.test(response.url()));
  await goTo(page, `#/execution/all?tab=threads&left=${each.from_ns - length}&right=${each.to_ns + length}`);
  await asked;
  await page.locator(`.lane.thread:has-text("${row.tid}")`).scrollIntoViewIfNeeded();
  const lane = (await page.locator(".lane.thread .dim").allTextContents()).indexOf(String(row.tid));
  const place = async () => {
    const box = await page.locator("#card-threads canvas").boundingBox();
    return [box.x + box.width / 2, box.y + 44 * lane + 30];
  };
  for (let moved = 0; (await page.locator("#card-threads .tip:has-text('off the CPU')").count()) === 0; moved++) {
    expect(moved < 600, "the wait in the middle is not shown");
    const [x, y] = await place();
    await page.mouse.move(x + (moved % 2), y);
    await page.waitForTimeout(50);
  }
  await page.mouse.dblclick(...(await place()));
  await sightWithin(page, length * 1.5);
}));

test("time off the CPU is that of the part, without Tailor's own agent", () => withPage("#/execution/all?tab=threads", async (page) => {
  const { threads } = await ask(page, "executions/all/threads?source=cpu-clock");
  const waits = threads.flatMap((row) => row.off_cpu).filter((off) => !off.key.endsWith(":4294967295"));
  expect(threads.every((row) => row.off_cpu.length < 2000), "too many waits to add up");
  const [from, to] = [Math.min(...waits.map((off) => off.from_ns)), Math.max(...waits.map((off) => off.to_ns))];
  const middle = Math.floor((from + to) / 2);
  const clipped = (end) => waits.reduce((sum, off) => sum + Math.max(0, Math.min(off.to_ns, end) - Math.max(off.from_ns, from)), 0);
  await goTo(page, `#/execution/all?tab=threads&from=${from}&to=${middle}`);
  const summary = page.locator("#card-threads summary:has-text('chosen part')");
  await summary.waitFor();
  const text = plain(await summary.textContent());
  const [, value, unit] = /Off the CPU: ([\d.]+) (s|ms|µs|min)/.exec(text) ?? [];
  const shown = Number(value) * { s: 1e9, ms: 1e6, "µs": 1e3, min: 60e9 }[unit];
  expect(Math.abs(shown - clipped(middle)) <= 0.06 * clipped(middle), `${text}, and not ${clipped(middle)} ns`);
  expect(text.includes("own agent"), text);
}, { file: few }));

test("the lane of threads is that of the daemon's timeline, of the whole and of a part", () => withPage("#/execution/all", async (page) => {
  const shown = await ask(page, "executions/all/profile?source=cpu-clock");
  const samples = await ask(page, "executions/all/samples");
  const workers = Workers.of(shown, samples, new SampleTable(shown, samples, new Owners(shown)));
  const whole = await ask(page, "executions/all/timeline?source=cpu-clock&lanes=all&buckets=40");
  const { from_ns: begin, to_ns: end } = whole;
  const [from, to] = [begin, end].map((edge) => Math.floor(begin + (edge - begin) * 0.4 + (end - begin) * 0.2));
  const part = await ask(page, `executions/all/timeline?source=cpu-clock&lanes=all&buckets=40&from_ns=${from}&to_ns=${to}`);
  const laneOf = (line) => workers.lane({ from: -Infinity, to: Infinity, tid: null, pipeline: null }, { from: line.from_ns, to: line.to_ns }, 40);
  const differ = (ours, theirs) => [...ours].some((value, i) => Math.abs(value - theirs[i]) > 1e-6 * Math.max(1, theirs[i]));
  expect(whole.workers.threads > 1 && Math.max(...whole.workers.waiting) > 0, "nobody waited, or one thread worked alone: nothing is checked");
  const lane = laneOf(whole);
  expect(lane.threads === whole.workers.threads && !differ(lane.working, whole.workers.working), `${lane.threads} and ${whole.workers.threads} threads; ${lane.working}; ${whole.workers.working}`);
  expect(!differ(lane.waiting, whole.workers.waiting), `${lane.waiting}; ${whole.workers.waiting}`);
  // Samples that end behind a part stand for time in it.
  const ofPart = laneOf(part);
  expect(!differ(ofPart.working, part.workers.working), `${ofPart.working}; ${part.workers.working}`);
  expect(!differ(ofPart.waiting, part.workers.waiting), `${ofPart.waiting}; ${part.workers.waiting}`);
  expect(differ(lane.working, part.workers.working), "the comparison cannot fail");
  const label = await page.locator("#card-activity .workers b").textContent();
  expect(/^\d+ threads$/.test(label), label);
}));

test("the flame graph and the plan are of what is in sight", () => withPage("#/execution/all", async (page) => {
  const times = await timesOf(page);
  const last = Math.max(...times);
  const [from, to] = [Math.floor(last * 0.5), Math.floor(last * 0.6)];
  await goTo(page, `#/execution/all?left=${from}&right=${to}&table=flame`);
  await page.waitForSelector("#card-flame tbody tr");
  await page.waitForSelector("[data-filter=sight]");
  const cells = await page.locator("#card-flame tbody tr").first().locator("td").allTextContents();
  const count = Number(cells.at(-1));
  expect(count === within(times, from, to) && count > 0, `the flame graph has ${count} samples, and ${within(times, from, to)} are in sight`);
  const answer = reportOf(from, to);
  for (const row of answer.plans[0].operators) {
    const shown = plain(await page.locator(`#plan-node-${row.id} .share`).textContent());
    expect(close(shown, row.share), `${row.name}: ${shown} for ${row.share}`);
  }
}));

test("the list of keys names all of them, and the tabs are in sight on small screens", async () => {
  for (const viewport of [{ width: 1440, height: 900 }, { width: 900, height: 700 }]) {
    await withPage("#/execution/all", async (page) => {
      await page.waitForSelector("[role=tab]");
      for (const tab of await page.locator("[role=tab]").all()) {
        const box = await tab.boundingBox();
        expect(box.y >= 0 && box.y + box.height <= viewport.height && box.x + box.width <= viewport.width, `a tab at ${box.x}, ${box.y} of ${viewport.width} x ${viewport.height}`);
      }
      // What one opens there comes into sight.
      await page.locator("#tab-about").click();
      await until(page, () => document.querySelector("#card-about h3").getBoundingClientRect().bottom < innerHeight);
      const rows = (await page.locator("#card-about").innerText()).split("\n");
      expect(!rows.some((row) => row.includes("accounting:") || /_ns\b/.test(row)), rows.join("; "));
      expect((await page.evaluate(() => document.documentElement.scrollWidth)) <= viewport.width, "the page is wider than the window");
      await page.keyboard.press("?");
      await page.waitForSelector("dialog[open]");
      for (const key of ["w s", "a d", "f", "m", "wheel", "drag", "double click", "?"]) expect((await page.locator(`dialog kbd:text-is('${key}')`).count()) === 1, `the list lacks ${key}`);
    }, { viewport });
  }
});

const code = await finish();
await browser.close();
process.exit(code);
