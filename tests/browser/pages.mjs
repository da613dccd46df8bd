// What the pages beside an execution's own show, and what a report file offers of them.
import { addressOf, drawn, hoverUntil, launch, missing, open, reportOf, serve, writeReport } from "./browser.mjs";
import { expect, finish, near, plain, skip, test } from "./check.mjs";
import { makeBundle } from "./fixture.mjs";

if (missing()) skip(missing());
const bundle = makeBundle();
const browser = await launch();
const a = "3f2a".repeat(8);
const b = "77ab".repeat(8);
const text = async (page, selector) => plain(await page.locator(selector).first().textContent());

// Of the bundle, with page faults beside the CPU's time: `contained` says in which executions' views.
function withFaults(contained) {
  const responses = structuredClone(bundle.responses);
  for (const id of ["all", a, b]) {
    const root = `executions/${id}`;
    const faults = { index: 1, name: "page-faults", unit: "events", period: 1, precise: true };
    responses[`${root}/sources`] = { sources: [{ ...responses[`${root}/sources`].sources[0], default: true }, faults] };
    if (!contained.includes(id)) continue;
    for (const view of ["profile", "memory", "threads", "listing"]) responses[`${root}/${view}?source=page-faults`] = structuredClone(responses[`${root}/${view}`]);
    const profile = responses[`${root}/profile?source=page-faults`];
    Object.assign(profile, { source: faults, samples: 12, weight: 12 });
    const samples = responses[`${root}/samples`] = structuredClone(responses[`${root}/samples`]);
    samples.sources.push(faults);
    samples.cells.push({ ...samples.cells[0], source: 1 });
    for (let i = 0; i < 12; i++) for (const [column, value] of [["time_ns", i * 1e8], ["tid", 815], ["weight", 1], ["cell", samples.cells.length - 1]]) samples[column].push(value);
  }
  return { ...bundle, responses };
}

test("another event is chosen, and the one of before again", async () => {
  const file = writeReport(withFaults(["all", a, b]));
  for (const id of ["all", a]) {
    const page = await open(browser, `${file.url}#/execution/${id}`);
    const choice = page.locator("label:has-text('Event') select");
    await choice.selectOption("page-faults");
    await page.waitForSelector(".fact:has-text('samples') b:text-is('12')");
    await page.locator("#tab-code").click();
    await page.waitForSelector("#card-code .listing");
    await choice.selectOption("cpu-clock");
    await page.waitForSelector(".fact:has-text('samples') b:text-is('4000')");
    expect(page.wrong.length === 0, page.wrong.join("; "));
    await page.close();
  }
  file.remove();
});

test("an event that a report file lacks is listed, and cannot be chosen", async () => {
  const file = writeReport(withFaults(["all"]));
  const page = await open(browser, `${file.url}#/execution/${a}`);
  await page.waitForSelector(".node");
  const option = page.locator("option[value=page-faults]");
  expect(await option.isDisabled(), "it can be chosen");
  expect((await option.textContent()).includes("not in this file"), await option.textContent());
  expect(!(await page.locator("option:text-is('cpu-clock')").isDisabled()), "what is there can be chosen");
  await page.close();
  file.remove();
});

test("a report file offers the comparisons and executions that it holds", async () => {
  const responses = structuredClone(bundle.responses);
  const other = { ...responses.executions.executions[0], id: "0bad".repeat(8), plan_name: "not in the file" };
  responses.executions.executions.push(other);
  const file = writeReport({ ...bundle, responses });
  const page = await open(browser, `${file.url}#/?q=`);
  const row = (name) => page.locator(`section[aria-label=Executions] tbody tr:has-text('${name}')`);
  await row("not in the file").waitFor();
  expect((await row("not in the file").locator("a, button").count()) === 0, "what is not there is offered");
  expect((await page.locator("button:text-is('mark')").count()) === 2, "two can be compared");
  await page.locator("button:text-is('mark')").first().click();
  expect((await page.locator("a:has-text('with this')").count()) === 1, "with one other");
  await page.locator("a:has-text('with this')").click();
  await page.waitForSelector(".dumbbell");
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  // Without comparisons there is nothing to mark.
  for (const key of Object.keys(responses)) if (key.startsWith("compare")) delete responses[key];
  const without = writeReport({ ...bundle, responses });
  const bare = await open(browser, `${without.url}#/?q=`);
  await bare.locator("section[aria-label=Executions] tbody tr").first().waitFor();
  expect((await bare.locator("button:text-is('mark')").count()) === 0, "an execution can be marked");
  await bare.close();
  file.remove();
  without.remove();
});

test("the table of queries is of the time of the charts, or says of which time it is", async () => {
  const live = makeBundle({ live: true, samples: 100, points: 10 });
  const server = await serve(live);
  const page = await open(browser, server.url);
  const table = page.locator("section[aria-label='Queries by cost']");
  const row = table.locator("tbody tr:has-text('tpch-3')");
  await row.waitFor();
  const legend = plain(await page.locator("#card-fingerprints .legend > span:has-text('tpch-3') .dim").textContent());
  expect(plain(await row.textContent()).includes(legend), `${await row.textContent()} in the table, ${legend} in the legend`);
  expect(/^the last 15 min$/.test(await table.locator(".note").textContent()), await table.locator(".note").textContent());
  // What the chart has and nobody began since has a row too.
  expect((await table.locator("tbody tr").count()) === 3, "queries that the chart names are not in the table");
  await table.locator("button:has-text('All time')").click();
  await page.waitForFunction(() => location.hash.includes("queries=all"));
  await table.locator("tbody tr:has-text('91.0')").waitFor();
  expect(/all that is stored; the charts show the last/.test(await table.locator(".note").textContent()), await table.locator(".note").textContent());
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  server.close();
});

test("a file has no health, and its charts have the time of its executions", async () => {
  const responses = structuredClone(bundle.responses);
  responses.fingerprints.fingerprints[0].first_ms = 1764859990000.5;
  const asked = [];
  const server = await serve({ ...bundle, responses }, (path, parameters) => {
    if (path !== "host") return undefined;
    asked.push(parameters.toString());
    return responses.host;
  });
  const page = await open(browser, server.url);
  await page.waitForSelector("#card-fingerprints canvas");
  const said = await page.locator("body").innerText();
  expect(!/health|undefined|NaN|no connection|\blive\b/i.test(said), said);
  expect(said.includes("q3.tailor"), "the file is not named");
  // From the first one's begin to the end of the last, which took 2.73 s.
  expect(asked.join(" ") === `since=1764859990000&until=${Math.ceil(1764860000123.4 + 2730)}`, asked.join(" "));
  const events = (shown) => shown.asked.filter((url) => url.endsWith("/live")).length;
  expect(events(page) === 0, "events are asked for, and a file has none");
  await page.close();
  server.close();
  const daemon = await serve(makeBundle({ live: true, samples: 100, points: 10 }));
  const live = await open(browser, daemon.url);
  await live.waitForSelector("section[aria-label=Health]:has-text('39.1 MiB')");
  expect(events(live) > 0, "a daemon's events are not asked for");
  await live.close();
  daemon.close();
});

test("the lines of a query are lines where there is room, and blanks elsewhere", async () => {
  const responses = structuredClone(bundle.responses);
  responses.executions.executions[0].labels = { query: "select 1\r\n\tfrom lineitem\nwhere 2" };
  responses["history?by=day&fingerprint=9c1e&limit=1000"] = { error: { kind: "denied", message: "no" } };
  responses["fingerprints/9c1e"].text = "select 1\r\n\tfrom lineitem\nwhere 2\u0007";
  const server = await serve({ ...bundle, responses });
  const page = await open(browser, server.url);
  await page.locator("section[aria-label=Executions] td:has-text('select 1 from lineitem where 2')").waitFor();
  await page.evaluate(() => { location.hash = "#/fingerprint/9c1e"; });
  await page.waitForSelector(".sql");
  const text = await page.locator(".sql").textContent();
  expect(text === "select 1\n    from lineitem\nwhere 2\ufffd", JSON.stringify(text));
  expect((await page.locator(".sql").evaluate((element) => element.clientHeight / Number.parseFloat(getComputedStyle(element).lineHeight))) > 3, "they are not shown as lines");
  await page.close();
  server.close();
});

test("the lane of a thread shows where it was off the CPU, and for what", async () => {
  const file = writeReport(bundle);
  const page = await open(browser, `${file.url}#/execution/all?tab=threads`);
  const canvas = page.locator("#card-threads canvas");
  await canvas.waitFor();
  const responses = structuredClone(bundle.responses);
  responses["executions/all/threads"].threads.forEach((thread) => { thread.off_cpu = []; });
  const idle = writeReport({ ...bundle, responses });
  const twin = await open(browser, `${idle.url}#/execution/all?tab=threads`);
  await twin.locator("#card-threads canvas").waitFor();
  await Promise.all([page, twin].map(drawn));
  // The two pictures differ where the thread waited, from 5 to 6 % of the time, and nowhere else.
  const pixels = (from) => from.locator("#card-threads canvas").evaluate((element) => [element.width, [...element.getContext("2d").getImageData(0, 0, element.width, element.height).data]]);
  const [[width, left], [, right]] = [await pixels(page), await pixels(twin)];
  const columns = left.flatMap((value, i) => (value === right[i] ? [] : [(Math.floor(i / 4) % width) / width]));
  expect(columns.length > 0, "the picture is the same without the wait");
  expect(columns.every((at) => at > 0.048 && at < 0.062), `they differ at ${Math.min(...columns)} to ${Math.max(...columns)} of the width`);
  await page.bringToFront();
  await hoverUntil(page, canvas, (box) => [box.x + box.width * 0.055, box.y + 30], ".tip:has-text('off the CPU, for a lock')");
  expect((await text(page, ".tip")).includes("21.0 ms"), await text(page, ".tip"));
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 30);
  await page.waitForFunction(() => !document.querySelector(".tip")?.textContent.includes("off the CPU"));
  for (const each of [page, twin]) {
    expect(each.wrong.length === 0, each.wrong.join("; "));
    await each.close();
  }
  file.remove();
  idle.remove();
});

test("a query's page shows its operators over days, with what is unattributed, and compares two of them", async () => {
  const server = await serve(bundle);
  const page = await open(browser, `${server.url}#/fingerprint/9c1e`);
  await page.waitForSelector("#card-history canvas");
  expect((await page.locator("#card-history .legend:has-text('unattributed')").count()) === 1, "nothing is said of the unattributed");
  // 3 of 100 samples have no owner, 7 are the engine's.
  const fact = async (name) => text(page, `.trust .fact:has-text('${name}') b`);
  expect((await fact("unattributed")) === "3.0 %" && (await fact("engine")) === "7.0 %", `${await fact("unattributed")}, ${await fact("engine")}`);
  await page.locator("#card-history header button[title='The same as a table']").click();
  const shown = await page.locator("#card-history tbody tr").evaluateAll((rows) => rows.map((row) => Number.parseFloat(row.children[2].textContent)));
  near(shown.reduce((sum, each) => sum + each, 0), 100, "shares", 0.002);
  expect((await text(page, "#card-history tbody tr:last-child")).startsWith("unattributed"), "the last row is the unattributed");
  // The first and the last of the days with executions: the join had 30 of 100, and has 55.
  const join = page.locator("#card-periods tr:has-text('Hash join')");
  const ofJoin = async () => plain(await join.textContent());
  expect(/30\.0 %.*55\.0 %.*● \+25\.0 points/.test(await ofJoin()), await ofJoin());
  await page.locator("#card-periods select").nth(1).selectOption({ index: 1 });
  await page.waitForFunction(() => /31\.0\s%/.test(document.querySelector("#card-periods tbody").textContent));
  expect((await join.textContent()).endsWith("no"), "one of 100 is chance");
  const again = await open(browser, await addressOf(page));
  expect(/31\.0\s%/.test(await again.locator("#card-periods tbody").textContent()), "the choice is not in the address");
  await again.close();
  await page.locator("#card-history button:has-text('Hours')").click();
  await page.waitForFunction(() => location.hash.includes("by=hour"));
  await page.waitForSelector("#card-history .note:has-text('by hour')");
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  server.close();
});

// The plan changed at noon of the last of the four days, and an hour before the first one.
function withPlanChanges(more = {}) {
  const responses = structuredClone(bundle.responses);
  const [old, young] = responses["fingerprints/9c1e"].executions_list;
  const change = (beganMs, plan_name, samples = 100) => ({ fingerprint: "9c1e", before: { ...old, began_ms: beganMs - 60000, samples: 100 }, after: { ...young, began_ms: beganMs, plan_name, samples } });
  const begin = 1764806400000;
  const plan_changes = [change(begin + 3.5 * 86400000, "tpch-3 <b>new</b>"), change(begin - 3600000, "tpch-3 older", 0)];
  responses["plan-changes?fingerprint=9c1e&limit=100"] = { plan_changes, more: false, executions: 120, without_plan: 0, cut: false, ...more };
  return { ...bundle, responses };
}

test("the chart of a query marks when its plan changed", async () => {
  const servers = [await serve(withPlanChanges()), await serve(bundle)];
  const [page, twin] = [await open(browser, `${servers[0].url}#/fingerprint/9c1e`, { timezoneId: "UTC" }), await open(browser, `${servers[1].url}#/fingerprint/9c1e`, { timezoneId: "UTC" })];
  for (const [each, note] of [[page, "its plan changed 2 times"], [twin, "its plan did not change"]]) await each.waitForSelector(`#card-history .note:has-text('${note}')`);
  await Promise.all([page, twin].map(drawn));
  const pixels = (from) => from.locator("#card-history canvas").evaluate((element) => [element.width, [...element.getContext("2d").getImageData(0, 0, element.width, element.height).data]]);
  const [[width, left], [, right]] = [await pixels(page), await pixels(twin)];
  // The two pictures differ where the plan changed, and nowhere else: the change before the first day is in the table alone.
  const columns = left.flatMap((value, i) => (value === right[i] ? [] : [(Math.floor(i / 4) % width) / width]));
  expect(columns.length > 0, "the chart has no mark");
  expect(columns.every((at) => at > 0.87 && at < 0.89), `they differ at ${Math.min(...columns)} to ${Math.max(...columns)} of the width`);
  const rows = page.locator("#card-history [aria-label='Changes of the plan'] tbody tr");
  expect((await rows.count()) === 2 && (await twin.locator("[aria-label='Changes of the plan']").count()) === 0, "one row for each change");
  expect((await rows.first().textContent()).includes("tpch-3 <b>new</b>"), await rows.first().textContent());
  const compared = await rows.first().locator("a:has-text('Compare')").getAttribute("href");
  expect(compared.includes(`a=${a}`) && compared.includes(`b=${b}`), compared);
  expect((await rows.nth(1).textContent()).includes("one has no samples"), await rows.nth(1).textContent());
  await page.bringToFront();
  await page.locator("#card-history canvas").scrollIntoViewIfNeeded();
  await hoverUntil(page, page.locator("#card-history canvas"), (box) => [box.x + box.width * 0.9, box.y + 30], ".tip:has-text('the plan changed')");
  for (const each of [page, twin]) {
    expect(each.wrong.length === 0, each.wrong.join("; "));
    await each.close();
  }
  servers.forEach((server) => server.close());
});

test("what is not known of changes of the plan is said", async () => {
  const server = await serve(withPlanChanges({ more: true, without_plan: 7, cut: true }));
  const page = await open(browser, `${server.url}#/fingerprint/9c1e`);
  await page.waitForSelector("#card-history .note:has-text('its plan changed more than 2 times')");
  for (const part of ["the newest 2 changes", "Only the newest 127 executions", "Of 7 executions the plan is not known"]) expect((await text(page, "#card-history")).includes(part), part);
  await page.close();
  server.close();
  // A server of before, which has no such answer: the rest is there.
  const { responses } = withPlanChanges();
  delete responses["plan-changes?fingerprint=9c1e&limit=100"];
  const older = await serve({ ...bundle, responses });
  const other = await open(browser, `${older.url}#/fingerprint/9c1e`);
  await other.waitForSelector("#card-history:has-text('Whether the plan changed is not known')");
  await other.waitForSelector("#card-history canvas");
  await other.close();
  older.close();
});

test("a query's page shows the operators of all runs, and leads to single ones", async () => {
  const responses = structuredClone(bundle.responses);
  const query = responses["fingerprints/9c1e"];
  // The list holds the newest runs only; the last of these has no sample.
  Object.assign(query, { executions: 320, first_sampled: "a0".repeat(16), last_sampled: "77ab".repeat(8) });
  Object.assign(query.runs, { executions: 310, sampled: 15, left_out: 10, samples: 17, plans: 2 });
  query.operators = query.operators.slice(0, 1);
  const server = await serve({ ...bundle, responses });
  const page = await open(browser, `${server.url}#/fingerprint/9c1e`);
  await page.waitForSelector("#card-operators table");
  const note = await text(page, "#card-operators .note");
  for (const part of ["17 samples of 310 runs, in 15 executions with samples", "10 others", "the most expensive of 2 plans"]) expect(note.includes(part), note);
  expect((await page.locator("#card-operators tbody tr").count()) === query.runs.operators.length, "not the operators of all runs");
  const linkTo = (words) => page.locator(`.heading a:has-text('${words}')`).getAttribute("href");
  const compared = await linkTo("Compare the first with the last");
  expect(compared.includes(`a=${query.first_sampled}`) && compared.includes(`b=${query.last_sampled}`), compared);
  expect((await linkTo("The last run that has samples")).includes(query.last_sampled), "one run is no choice");
  expect((await text(page, "#card-runs .note")).includes("the newest 2 of 320"), "the list seems to hold all runs");
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  server.close();
});

test("what was left out of all runs is said on the page of a query, and of everything", async () => {
  const responses = structuredClone(bundle.responses);
  const note = "3 executions are left out: the host was booted since then, and its kernel had its functions elsewhere";
  responses["fingerprints/9c1e"].runs.notes = [note];
  // Another object than the answer for one execution.
  responses["executions/all/profile"] = { ...responses["executions/all/profile"], view: { runs: { executions: 310, sampled: 15, left_out: 10 }, notes: [note] } };
  const server = await serve({ ...bundle, responses });
  const page = await open(browser, `${server.url}#/fingerprint/9c1e`);
  await page.waitForSelector(`#card-operators:has-text('${note}')`);
  await page.evaluate(() => { location.hash = "#/execution/all"; });
  await page.waitForSelector(".node");
  const shown = await text(page, ".viewed");
  for (const part of ["310 runs; 15 executions have samples", "10 others, the older ones, are left out", note]) expect(shown.includes(part), shown);
  // Of one execution there is nothing to say.
  await page.evaluate((id) => { location.hash = `#/execution/${id}`; }, a);
  await page.waitForSelector(".node");
  await page.waitForFunction(() => !document.querySelector(".viewed"));
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  server.close();
});

test("a query of which no run has a sample says so", async () => {
  const responses = structuredClone(bundle.responses);
  Object.assign(responses["fingerprints/9c1e"], { samples: 0, first_sampled: "", last_sampled: "", operators: [] });
  Object.assign(responses["fingerprints/9c1e"].runs, { sampled: 0, samples: 0, plans: 0, operators: [] });
  const server = await serve({ ...bundle, responses });
  const page = await open(browser, `${server.url}#/fingerprint/9c1e`);
  await page.waitForSelector("#card-operators:has-text('No run has a sample')");
  expect((await page.locator(".heading a").count()) === 0, "a link leads to a run without samples");
  expect((await page.locator("[role=alert]").count()) === 0, "it is no error");
  await page.close();
  server.close();
});

test("a run without samples leads to all runs of its query, and is no error", async () => {
  const responses = structuredClone(bundle.responses);
  const id = "77ab".repeat(8);
  responses[`executions/${id}`].samples = 0;
  for (const view of ["profile", "samples", "sources", "iterations"]) responses[`executions/${id}/${view}`] = { error: { kind: "not_found", message: "no sample in this selection" } };
  const server = await serve({ ...bundle, responses });
  const page = await open(browser, `${server.url}#/execution/${id}`);
  await page.waitForSelector("main:has-text('This run has no sample')");
  expect((await page.locator("[role=alert]").count()) === 0, "it is shown as an error");
  await page.locator("main a:has-text('All runs of this query')").click();
  await page.waitForSelector("#card-operators table");
  await page.close();
  // The twin: what is not there at all is an error, as before.
  responses[`executions/${id}`] = { error: { kind: "not_found", message: "no execution begins with that" } };
  const other = await open(browser, `${server.url}#/execution/${id}`);
  await other.waitForSelector("[role=alert]");
  await other.close();
  server.close();
});

test("an execution whose process was sampled at another rate has a mark", async () => {
  const responses = structuredClone(bundle.responses);
  const rate = { hz: 997, why: "trigger slow: it has run for 3.1 s" };
  for (const row of [responses.executions.executions.find((each) => each.id === a), responses[`executions/${a}`]]) row.rate = rate;
  const server = await serve({ ...bundle, responses });
  const page = await open(browser, `${server.url}#/`);
  await page.waitForSelector("[aria-label=Executions] tbody tr");
  expect((await page.locator("[aria-label=Executions] .badge.rate").count()) === 1, "one of both has it");
  expect((await text(page, "[aria-label=Executions] .badge.rate")) === "997 Hz (trigger slow)", await text(page, ".badge.rate"));
  await page.locator("[aria-label='Search the executions']").fill("trigger");
  await page.waitForFunction(() => document.querySelectorAll("[aria-label=Executions] tbody tr").length === 1);
  await page.close();
  const other = await open(browser, `${server.url}#/execution/${a}`);
  await other.waitForSelector(".facts .badge.rate");
  expect(other.wrong.length === 0, other.wrong.join("; "));
  await other.close();
  server.close();
});

// The first minute of the hour 9 is half a CPU of tpch-3, the next one a whole CPU of tpch-1.
function dayAnswer(parameters) {
  const minutes = Number(parameters.get("buckets"));
  const row = (key, name, at, cpus) => ({ key, name, cpu_ns: Array.from({ length: minutes }, (_, i) => (i === at ? cpus * 60e9 : 0)) });
  const since = Number(parameters.get("since"));
  return { from_ms: since, to_ms: Number(parameters.get("until")), bucket_ms: 60000, by_fingerprint: [row("fingerprint:9c1e", "tpch-3", 540, 0.5), row("fingerprint:tpch-1", "tpch-1", 541, 1)], by_kind: [], running: [], health: { status: "ok", reasons: [] } };
}

test("a day by the minute shows which query ran when", async () => {
  const asked = [];
  const server = await serve(makeBundle({ live: true, samples: 100, points: 10 }), (path, parameters) => {
    if (path !== "host" || !parameters.has("since")) return undefined;
    asked.push(Object.fromEntries(parameters));
    return dayAnswer(parameters);
  });
  const page = await open(browser, `${server.url}#/`, { timezoneId: "Europe/Berlin" });
  const card = page.locator("#card-day");
  await card.waitFor();
  expect(asked.length === 0, "the day is read before somebody asks for it");
  await card.locator("button:has-text('Show today')").click();
  await card.locator("canvas").waitFor();
  expect((await addressOf(page)).includes("day=2025-12-04"), await addressOf(page));
  expect(asked[0].buckets === "1440" && Number(asked[0].since) === Date.parse("2025-12-04T00:00+01:00") && Number(asked[0].until) === Date.parse("2025-12-05T00:00+01:00"), JSON.stringify(asked[0]));
  // As it is drawn: the busiest minute is darkest, one without anything has no colour.
  const cell = (hour, minute) => card.locator("canvas").evaluate((canvas, [row, column]) => {
    const ratio = canvas.width / canvas.clientWidth;
    const x = 46 + ((column + 0.4) * (canvas.clientWidth - 46)) / 60;
    return [...canvas.getContext("2d").getImageData(Math.round(x * ratio), Math.round((row * 15 + 7) * ratio), 1, 1).data].slice(0, 3);
  }, [hour, minute]);
  await page.waitForFunction(() => document.querySelector("#card-day canvas").height > 200);
  await drawn(page);
  const light = (color) => color.reduce((sum, each) => sum + each, 0);
  const [half, whole, none] = [light(await cell(9, 0)), light(await cell(9, 1)), light(await cell(9, 2))];
  expect(whole < half && half < none, `${whole} ${half} ${none}`);
  const canvas = card.locator("canvas");
  const point = (hour, minute) => (box) => [box.x + 46 + ((minute + 0.4) * (box.width - 46)) / 60, box.y + hour * 15 + 7];
  await hoverUntil(page, canvas, point(9, 1), ".tip:has-text('09:01')");
  expect(/tpch-1.*1\.00 CPUs/.test(await text(page, ".tip")), await text(page, ".tip"));
  await card.locator("button:has-text('Table')").click();
  const nine = plain(await card.locator("tbody tr").nth(9).innerText());
  expect(/1\.5 min/.test(nine) && /1\.00 CPUs/.test(nine) && /tpch-1/.test(nine), nine);
  await card.locator("select").selectOption({ label: "tpch-3" });
  await card.locator("tbody tr:has-text('30.0 s')").waitFor();
  await card.locator("button:has-text('Table')").click();
  await canvas.waitFor();
  await hoverUntil(page, canvas, point(9, 0), ".tip:has-text('09:00')");
  await page.mouse.click(...point(9, 0)(await canvas.boundingBox()));
  await page.waitForFunction(() => location.hash.startsWith("#/fingerprint/9c1e"));
  const nineOClock = Date.parse("2025-12-04T09:00+01:00");
  expect((await addressOf(page)).endsWith(`from=${nineOClock}&to=${nineOClock + 60000}`), await addressOf(page));
  // A run that was busy then may have begun before.
  await page.locator("main:has-text('No run of this query began from') a:has-text('All its runs')").click();
  await page.waitForSelector("#card-operators table");
  await page.close();
  // A profile has no days, and what is no day is not asked for.
  const other = await open(browser, `${server.url}#/?day=2026-02-31`);
  await other.locator("#card-day button:has-text('Show today')").waitFor();
  await other.close();
  server.close();
});

// A report file of the same plan, changed: `change` gets its profile.
function otherReport(change) {
  const other = makeBundle({ seed: 11, samples: 2000 });
  const profile = structuredClone(other.responses["executions/all/profile"]);
  change(profile);
  return { name: "before.html", mimeType: "text/html", buffer: Buffer.from(reportOf({ ...other, responses: { ...other.responses, "executions/all/profile": profile } })) };
}

async function comparedWith(page, file) {
  await page.locator("input[aria-label='A report file to compare with']").setInputFiles(file);
  await page.waitForSelector(`#card-compare, .message.error`);
  if ((await page.locator("#card-compare table").count()) === 0) await page.locator("#card-compare button:has-text('Table')").click();
  const rows = await page.locator("#card-compare tbody tr").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
  return rows.map((row) => row.map(plain));
}

test("a plan stands beside that of a report file, operator by operator", async () => {
  const server = await serve(bundle);
  const page = await open(browser, `${server.url}#/execution/all`);
  await page.locator("a:has-text('Compare with a file')").click();
  await page.waitForSelector("main:has-text('Open a report file')");
  const own = bundle.responses["executions/all/profile"].plans[0].operators;
  let before = [];
  const same = await comparedWith(page, otherReport((profile) => { before = profile.plans[0].operators; }));
  expect(same.length === own.length + 2, `${same.length} rows`);
  expect(/the same plan/.test(await text(page, ".heading")), await text(page, ".heading"));
  own.forEach((row, i) => {
    const [name, change, a, b, share] = same[i];
    expect(name === row.name && change === "in both", `${name} ${change}`);
    for (const [shown, side] of [[a, before[i]], [b, row]]) expect(shown.startsWith(`${(side.share * 100).toFixed(1)} %`), `${name}: ${shown} for ${side.share}`);
    expect(Math.abs(Number.parseFloat(share.replace("−", "-")) - (row.share - before[i].share) * 100) <= 0.0501, `${name}: ${share}`);
  });
  expect(same.every((row) => row.at(-1) === "no"), "chance is told as a change");
  expect(/No operator’s share differs/.test(await text(page, ".verdict")), await text(page, ".verdict"));
  expect(!/cost/.test(await text(page, "#card-compare thead")), "costs are compared, though nobody knows how often the plans ran");
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  server.close();
});

// The twins of the above: what changed must be seen.
test("what a report file has otherwise is told: a dearer operator, one that moved, one that is gone", async () => {
  const file = writeReport(bundle);
  const page = await open(browser, `${file.url}#/compare?a=file&b=all`);
  const rows = await comparedWith(page, otherReport((profile) => {
    const operators = profile.plans[0].operators;
    Object.assign(operators[3], { share: 0.1, share_low: 0.087, share_high: 0.114, weight: 0.1 * profile.weight });
    operators[5].depth = 1; // it hangs elsewhere
    operators[6].attributes[0].value = "another table";
  }));
  const row = (name, change) => rows.filter((each) => each[0] === name && each[1] === change);
  const join = rows[3];
  expect(join[0] === "Hash join" && join.at(-1) === "yes" && join[2].startsWith("10.0 %"), join.join(" "));
  expect(row("Scan", "moved").length >= 1, "the scan that moved");
  expect(row("Scan", "only in A").length === 1 && row("Scan", "only in B").length === 1, "the scan of another table");
  expect(row("Scan", "only in A")[0][3] === "–", "it has no share in B");
  expect(/different plans/.test(await text(page, ".heading")), await text(page, ".heading"));
  await page.locator("input[aria-label='A report file to compare with']").setInputFiles({ name: "no.html", mimeType: "text/html", buffer: Buffer.from("<p>hello") });
  await page.waitForSelector("[role=alert]:has-text('no.html')");
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  file.remove();
});

test("what a share of the executions costs is not told as the cost of all", async () => {
  const plainly = await serve(bundle);
  const twin = await open(browser, plainly.url);
  await twin.waitForSelector("section[aria-label='Queries by cost'] tbody tr");
  expect(!/sampled/.test(await twin.locator("main").innerText()), "a share is told of where all are sampled");
  await twin.close();
  plainly.close();
  const responses = structuredClone(bundle.responses);
  const share = { drawn: 15, cpu_ns_of_all: { value: 7.2e9, low: 6e9, high: 8.4e9 } };
  for (const query of [responses.fingerprints.fingerprints[0], responses["fingerprints/9c1e"]]) Object.assign(query, share);
  for (const row of [responses.executions.executions[1], responses[`executions/${b}`], responses["fingerprints/9c1e"].executions_list[1]]) Object.assign(row, { drawn: false, cpu_ns: 0, samples: 0 });
  responses[`executions/${b}/profile`] = { error: { kind: "not_found", message: "no sample" } };
  responses["executions/all/profile"].drawn = { executions: 24, drawn: 3, weight: 4e9, estimate: { weight: 32e9, low: 20e9, high: 44e9 } };
  const server = await serve({ ...bundle, responses });
  const page = await open(browser, server.url);
  await page.waitForSelector("section[aria-label='Queries by cost'] .note:has-text('costs are of the executions that are sampled')");
  await page.waitForSelector("#card-fingerprints .note:has-text('of those that are sampled')");
  expect((await page.locator("section[aria-label=Executions] tbody td:text-is('not sampled')").count()) === 1, "a cost of nothing is shown");
  const goTo = (hash) => page.evaluate((to) => { location.hash = to; }, hash);
  await goTo("#/fingerprint/9c1e");
  await page.waitForSelector(".heading:has-text('in the 15 that are sampled, 7.20 s in all (6.00 s to 8.40 s)')");
  await goTo("#/execution/all");
  await page.waitForSelector(".fact:has-text('3 of 24 sampled'):has-text('all: 32.0 s (20.0 s to 44.0 s)')");
  await goTo(`#/execution/${b}`);
  await page.waitForSelector("[data-kind=no-samples]:has-text('a share of the executions is sampled')");
  const wrong = page.wrong.filter((each) => !each.includes("404")); // the answer without a sample
  expect(wrong.length === 0, wrong.join("; "));
  await page.close();
  server.close();
});

test("a query's page without sums over days says why", async () => {
  const responses = structuredClone(bundle.responses);
  responses["history?by=day&fingerprint=9c1e&limit=1000"] = { error: { kind: "denied", message: "sums over days tell no labels apart" } };
  const server = await serve({ ...bundle, responses });
  const page = await open(browser, `${server.url}#/fingerprint/9c1e`);
  await page.waitForSelector("#card-history:has-text('tell no labels apart')");
  await page.waitForSelector("#card-runs canvas");
  await page.close();
  server.close();
});

const code = await finish();
await browser.close();
process.exit(code);
