// The page's own sums, without a browser: nothing is lost or counted twice under any choice.
import { gzipSync } from "node:zlib";
import { expect, finish, near, plain, test } from "./check.mjs";
import { makeBundle, sliced } from "./fixture.mjs";
import { functionsAnswer } from "./functions_fixture.mjs";
import { flame } from "../../viewer/web/src/model/flame.ts";
import { Owners, operatorKey } from "../../viewer/web/src/model/owners.ts";
import { compareFunctions, compareTrees, FunctionProfile, pathTo, searchTree } from "../../viewer/web/src/model/functions.ts";
import { noMoreThan, SampleTable } from "../../viewer/web/src/model/samples.ts";
import { differences, eventOf, linesOf, shareIn, sumOf as sumOfLines } from "../../viewer/web/src/model/periods.ts";
import { totals } from "../../viewer/web/src/model/totals.ts";
import { bytes, lines, moment, name, percent, rangeText, timeOfBucket, timeOfDay } from "../../viewer/web/src/model/format.ts";
import { recordingFacts } from "../../viewer/web/src/model/recording.ts";
import { formatMarks, leastSight, moveBy, parseMarks, sightOf, withMark, zoomAt } from "../../viewer/web/src/model/sight.ts";
import { offCpuWithin, waitsWithin, withoutOwn } from "../../viewer/web/src/model/waits.ts";
import { changesText, notMarked, placed } from "../../viewer/web/src/model/plan_changes.ts";
import { costsIn } from "../../viewer/web/src/model/queries.ts";
import { failureOf, meanElapsed, rateText, runsOf, took, tookText } from "../../viewer/web/src/model/runs.ts";
import { divided } from "../../viewer/web/src/model/divided.ts";
import { dayBeside, dayOf, hoursOf, inMinute } from "../../viewer/web/src/model/day.ts";
import { answerIn, unpack } from "../../viewer/web/src/data/packed.ts";
import { wilson } from "../../viewer/web/src/model/wilson.ts";
import { queryText } from "../../viewer/web/src/data/access.ts";
import { formatRoute, parseRoute } from "../../viewer/web/src/state/route_text.ts";
import { Base, PageView, readChosen } from "../../viewer/web/src/ui/page_view.ts";

const everything = { from: -Infinity, to: Infinity, tid: null, pipeline: null };
const load = (options) => {
  const { responses } = makeBundle(options);
  const profile = responses["executions/all/profile"];
  const owners = new Owners(profile);
  return { profile, owners, samples: responses["executions/all/samples"], table: new SampleTable(profile, responses["executions/all/samples"], owners) };
};
const sumOf = (map) => [...map.values()].reduce((sum, each) => sum + each.weight, 0);

test("the owners' costs add up to the weight of the view, and are those of the report", () => {
  const { profile, owners, table } = load();
  const all = totals(table, table.sumCells(everything));
  near(all.weight, profile.weight, "weight");
  near(sumOf(all.owners), all.weight, "owners");
  for (const row of profile.plans[0].operators) {
    near(all.owners.get(owners.find(operatorKey("812.5512.7", row.id)))?.weight ?? 0, row.weight, row.name);
  }
  for (const row of profile.plans[0].pipelines) near(all.pipelines.get(`812.5512.7:${row.id}`).weight, row.weight, `pipeline ${row.id}`);
});

test("a sample is worth less where only a share of the executions was sampled", () => {
  const { profile, owners, samples, table } = load();
  const part = new SampleTable({ ...profile, sample_worth: 0.25 }, samples, owners);
  const [all, some] = [table, part].map((each) => totals(each, each.sumCells(everything)));
  near(some.effective, all.effective / 4, "effective samples");
  expect(some.samples === all.samples && some.weight === all.weight, "the sums are the same");
});

test("parts of the time add up to the whole", () => {
  const { table } = load();
  const whole = totals(table, table.sumCells(everything));
  let weight = 0;
  for (let at = 0; at < 10; at++) weight += table.sumCells({ ...everything, from: (table.to / 10) * at, to: (table.to / 10) * (at + 1) }).total;
  near(weight, whole.weight, "ten parts");
});

test("threads add up to the whole, and so do pipelines with what has none", () => {
  const { table } = load();
  const whole = table.sumCells(everything).total;
  near(table.sumCells({ ...everything, tid: 815 }).total + table.sumCells({ ...everything, tid: 816 }).total, whole, "threads");
  let weight = 0;
  for (const pipeline of new Set(table.cells.map((cell) => `${cell.plan}:${cell.pipeline}`))) weight += table.sumCells({ ...everything, pipeline }).total;
  near(weight, whole, "pipelines");
});

test("a pipeline that is chosen shows its own plan, unless another one is chosen", () => {
  const { profile, samples } = load({ samples: 100, points: 10 });
  const two = { ...profile, plans: [...profile.plans, { ...profile.plans[0], plan_key: "812.5512.8" }] };
  const shown = (state) => new PageView(new Base(two, samples), readChosen(state)).planKey;
  const plans = [shown({}), shown({ pipe: "812.5512.8:2" }), shown({ pipe: "812.5512.8:2", plan: "812.5512.7" }), shown({ pipe: ":0" })];
  expect(plans.join() === "812.5512.7,812.5512.8,812.5512.7,812.5512.7", plans.join());
});

test("the timeline holds every sample of its time once", () => {
  const { table } = load();
  const series = table.timeline(everything, table.from, table.to, 77, 1, () => [[0, 1]]);
  // What the first samples stand for began before the view.
  const before = table.timeline(everything, table.from - 1e9, table.from, 7, 1, () => [[0, 1]]);
  near([...series[0], ...before[0]].reduce((a, b) => a + b, 0), table.sumCells(everything).total, "timeline");
  expect(before[0].reduce((a, b) => a + b, 0) < 0.01 * table.sumCells(everything).total, "much lies before the view");
});

// Samples of [thread, time, weight] in ns of another unit, all of one owner.
function waits(rows, unit = "ns_off_cpu", more = {}) {
  const { profile, samples } = load({ samples: 10 });
  Object.assign(profile.source, { unit });
  rows.sort((a, b) => a[1] - b[1]);
  const column = (at) => rows.map((row) => row[at]);
  Object.assign(samples, { total: rows.length, count: rows.length, tid: column(0), time_ns: column(1), weight: column(2), cell: rows.map(() => 0), ...more });
  samples.cells[0].source = 0;
  return new SampleTable(profile, samples, new Owners(profile));
}
const rates = (table, from, to, buckets) => [...table.timeline(everything, from, to, buckets, 1, () => [[0, 1]])[0]].map((weight) => weight / ((to - from) / buckets));

test("time off the CPU is drawn where it was spent, and no moment has more threads than there are", () => {
  const table = waits([[1, 3.5e9, 3e9], [2, 3.6e9, 3e9], [3, 3.7e9, 0.2e9], [1, 3.9e9, 0.3e9]]);
  const drawn = rates(table, 0, 4e9, 40);
  const wanted = (at) => [[0.5, 3.5], [0.6, 3.6], [3.5, 3.7], [3.6, 3.9]].filter(([begin, end]) => at > begin && at < end).length;
  drawn.forEach((rate, i) => near(rate, wanted(i / 10 + 0.05), `at ${i / 10} s`, 1e-6));
  // Seen from near, a wait that ends later is there too.
  rates(table, 1e9, 1.1e9, 10).forEach((rate) => near(rate, 2, "in between", 1e-6));
  // The weight at the sample's own time would be thirty threads.
  expect(3e9 / 1e8 > 3, "the twin of this check");
});

test("weights that are means, or were added up in the kernel, make no thread run twice", () => {
  // Every 0.9 ms on average, and each weighs 1 ms of at most 1 CPU: the thread was busy all the time.
  const means = waits(Array.from({ length: 1000 }, (_, i) => [7, 1e6 * (i + 1) - (i % 3) * 3e5, 1e6]), "ns_on_cpu");
  const drawn = rates(means, 0, 1e9, 500);
  expect(Math.max(...drawn) <= 1 + 1e-9, `${Math.max(...drawn)} CPUs of one thread`);
  near(drawn.reduce((a, b) => a + b, 0) / 500, 1, "all of it is drawn", 0.01);
  // Fifty sums of one second each have the time of its end.
  const { profile } = load({ samples: 10 });
  const rows = Array.from({ length: 50 }, () => [7, 1e9, 1e9 / 50]);
  const { samples } = load({ samples: 10 });
  profile.recording.aggregated_ns = 1e9;
  Object.assign(samples, { total: 50, count: 50, tid: rows.map((row) => row[0]), time_ns: rows.map((row) => row[1]), weight: rows.map((row) => row[2]), cell: rows.map(() => 0) });
  const sums = new SampleTable(profile, samples, new Owners(profile));
  rates(sums, 0, 1e9, 20).forEach((rate) => near(rate, 1, "one CPU", 1e-6));
});

test("no more CPUs are busy than the host has", () => {
  // On one CPU, thread 2 follows thread 1; its sample seems to reach back into the time of the other.
  const table = waits([[1, 1e6, 1e6], [2, 1.4e6, 1e6]], "ns_on_cpu");
  const series = table.timeline(everything, 0, 2e6, 20, 2, (row) => [[table.tid[row] - 1, 1]]);
  const peak = () => Math.max(...series[0].map((value, i) => value + series[1][i])) / 1e5;
  near(peak(), 2, "the twin of this check");
  noMoreThan(series, 1e5);
  near(peak(), 1, "one CPU");
  near(series[0][0], 1e5, "what fits stays as it is");
  noMoreThan(series, 0);
  near(peak(), 1, "where the CPUs are not known");
});

test("a slice with long waits is drawn over the time that they took", () => {
  const slice = 1e7;
  // Two waits of 3 s that end in one slice.
  const table = waits([[0, 3e9, 6e9]], "ns_off_cpu", { slice_ns: slice, samples: [2], squares: [2 * 9e18], tid: [] });
  rates(table, 0.1e9, 3e9, 29).forEach((rate) => near(rate, 2, "two threads", 1e-6));
});

test("events are drawn when they came", () => {
  const table = waits([[1, 1e9, 5], [1, 2e9, 7]], "events");
  const [row] = table.timeline(everything, 0, 3e9, 3, 1, () => [[0, 1]]);
  expect([...row].join() === "0,5,7", [...row].join());
});

test("Tailor's own agent waits for messages: that is no time off the CPU of the engine, and the page says how much", () => {
  const rows = [[1, 3e9, 1e9], [2, 3e9, 2.5e9]];
  const agent = { source: 0, pipeline: 0, how: "component_interval", kernel: false, quality: "exact", owner: "component", key: "component:812.5512:4294967295", wait: "lock" };
  for (const [unit, kept, leftOut] of [["ns_off_cpu", 1e9, 2.5e9], ["ns_on_cpu", 3.5e9, 0]]) {
    const { profile, samples } = load({ samples: 10 });
    profile.source.unit = unit;
    samples.cells[0].source = 0;
    samples.cells.push({ ...agent, source: 0 });
    Object.assign(samples, { total: 2, count: 2, tid: [1, 2], time_ns: rows.map((row) => row[1]), weight: rows.map((row) => row[2]), cell: [0, samples.cells.length - 1] });
    const table = new SampleTable(profile, samples, new Owners(profile));
    near(table.sumCells(everything).total, kept, unit);
    near(table.leftOut, leftOut, `left out of ${unit}`);
  }
});

test("a part of the time is zoomed at a place, moved, and stays within the whole", () => {
  const whole = { from: 0, to: 1e9 };
  const near2 = zoomAt(whole, whole, 7.5e8, 0.1);
  near(near2.to - near2.from, 1e8, "length");
  near((7.5e8 - near2.from) / 1e8, 0.75, "what is at the mouse stays there");
  const back = zoomAt(near2, whole, 7.5e8, 10);
  expect(back.from === 0 && back.to === 1e9, "zoomed out again");
  expect(zoomAt(near2, whole, 7.5e8, 1000).to === 1e9 && zoomAt(near2, whole, 7.5e8, 1000).from === 0, "no more than all");
  near(zoomAt(near2, whole, 7.5e8, 1e-12).to - zoomAt(near2, whole, 7.5e8, 1e-12).from, leastSight, "no less than the clock tells apart");
  expect(moveBy(near2, whole, 1e12).to === 1e9 && moveBy(near2, whole, -1e12).from === 0, "beyond the edges");
  near(moveBy(near2, whole, 1e12).to - moveBy(near2, whole, 1e12).from, 1e8, "length at the edge");
  // What an address may say.
  for (const [left, right] of [[null, null], [-5, 2e9], [9, 3], [2e9, 3e9], [Infinity, -Infinity]]) expect(sightOf(left, right, whole).from === 0 && sightOf(left, right, whole).to === 1e9, `${left} to ${right}`);
  expect(sightOf(5, null, whole).from === 5 && sightOf(null, 500, whole).to === 500, "one edge");
});

test("marks of an address are ranges, few, and come back as they are", () => {
  const text = "100~200,5~50";
  expect(formatMarks(parseMarks(text)) === "5~50,100~200", formatMarks(parseMarks(text)));
  for (const wrong of [undefined, "", "x", "1~", "9~3", "1e3~2e3", "1~2~3", "<b>~1", "99999999999999999~1"]) expect(parseMarks(wrong).length === 0, `${wrong} is a mark`);
  expect(parseMarks(Array.from({ length: 50 }, (_, i) => `${i}~${i + 1}`).join(",")).length === 10, "more than there is room for");
  const one = withMark([], { from: 1.5, to: 2.5 });
  expect(formatMarks(one) === "1~3" && withMark(one, { from: 1, to: 3 }).length === 0, "the same again takes it away");
});

test("a moment is as fine as its axis", () => {
  expect(moment(1234567890, 1e8) === "1.2 s" && moment(1234567890, 100) === "1.2345679 s", moment(1234567890, 100));
  expect(moment(400e6, 100e6) === "400 ms" && moment(402.5e6, 5e5) === "402.5 ms" && moment(50, 10) === "50 ns", moment(402.5e6, 5e5));
  const texts = Array.from({ length: 10 }, (_, i) => moment(2e9 + i * 1000, 1000));
  expect(new Set(texts).size === 10, `ticks that read the same: ${texts}`);
  expect(rangeText(1e9, 1.0001e9).includes("100 µs"), rangeText(1e9, 1.0001e9));
});

test("waits count with what lies in the part, and Tailor's own apart", () => {
  const row = (tid, off_cpu) => ({ process: { pid: 1, start: 1 }, tid, name: "", samples: 0, weight: 0, marks: [], marks_total: 0, off_cpu, off_cpu_ns: 0 });
  const engine = row(1, [{ from_ns: 0, to_ns: 100, wait: "lock", key: "operator:1.1.1:2" }, { from_ns: 150, to_ns: 300, wait: "io", event: "DataFileRead", key: "operator:1.1.1:2" }, { from_ns: 400, to_ns: 500, wait: "io", key: "operator:1.1.1:2" }]);
  const agent = row(2, [{ from_ns: 0, to_ns: 1000, wait: "lock", key: "component:1.1:4294967295" }]);
  const part = { from: 50, to: 200 };
  const waits = withoutOwn(waitsWithin([engine, agent], part, (key) => key));
  near(waits.ns, 100, "the engine's");
  expect(waits.waits === 2 && waits.rows.length === 1, `${waits.waits} waits`);
  near(waits.rows[0].by_wait.io, 50, "of the second wait");
  near(waits.rows[0].by_event.DataFileRead, 50, "by the engine's words");
  near(waits.own.ns, 150, "the agent's");
  near(offCpuWithin(engine, part), 100, "of the thread");
  // As reports say it: without keys.
  const { own, ns } = withoutOwn({ ns: 5, waits: 2, rows: [{ plan: 0, operator: 0, name: "tailor agent", waits: 1, ns: 4, by_wait: {} }, { plan: 1, operator: 3, name: "tailor agent", waits: 1, ns: 1, by_wait: {} }] });
  expect(own.ns === 4 && ns === 1, "an operator of that name is the engine's");
});

test("samples in sight are told one by one only where they are few", () => {
  const { table } = load({ samples: 1000 });
  expect(table.rowsOver(everything, table.from, table.to, 200) === null, "of too many");
  const [from, to] = [1e9, 1.02e9];
  const rows = table.rowsOver(everything, from, to, 1000);
  const wanted = [...table.time].flatMap((_, i) => (table.begin[i] < to && table.end[i] >= from ? [i] : []));
  expect(rows.join() === wanted.join() && rows.length > 0 && rows.length < 1000, `${rows} and ${wanted}`);
  const { profile, owners, samples } = load();
  expect(new SampleTable(profile, sliced(samples, 50_000_000), owners).rowsOver(everything, from, to, 1e6) === null, "a slice is no sample");
});

test("the recording is told in words and units, and nothing of it is left out", () => {
  const { profile } = load({ samples: 10 });
  Object.assign(profile.recording, { clock_error_ns: 28, own_cpu_ns: 240e6, kernel_sampled: true, later_ns: 5e6, later_share: 0.25, later: true });
  Object.assign(profile.accounting, { lost_ring: 7, brand_new: 3 });
  const facts = recordingFacts(profile).flatMap((each) => each.facts);
  const value = (name) => facts.find((each) => each.name === name)?.value;
  expect(value("error of the clock") === "at most ±28 ns" && value("CPU time of the recorder") === "240 ms", JSON.stringify(facts));
  expect(value("later ns") === "5.0 ms" && value("later") === "yes" && plain(value("later share")) === "25.0 %" && value("brand new") === "3", "what a newer program says");
  expect(facts.find((each) => each.name === "lost in full rings").bad === true, "what was lost has no sign");
  const known = Object.keys(profile.recording).length + Object.entries(profile.accounting).filter(([key, each]) => key !== "scope" && key !== "by_cpu" && typeof each !== "object").length + Object.keys(profile.file).length;
  expect(facts.length === known, `${facts.length} of ${known} facts`);
  expect(!facts.some((each) => /^\d{7,}$|^true$|^false$/.test(each.value)), "a bare number");
});

test("names are one line, texts keep their lines, and both show control characters", () => {
  expect(name("select 1\r\n\t from t\nwhere 2") === "select 1 from t where 2", name("select 1\r\n\t from t\nwhere 2"));
  expect(name("a  b") === "a  b" && name("a\u2028b") === "a b", "blanks");
  expect(lines("select 1\r\n\tfrom t\n") === "select 1\n    from t", JSON.stringify(lines("select 1\r\n\tfrom t\n")));
  for (const show of [name, lines]) expect(show("a\u0007b\u202ec\u0000") === "a\ufffdb\ufffdc\ufffd", show("a\u0007b\u202ec\u0000"));
  expect(bytes(undefined) === "–" && !/ /.test(percent(0.0001) + percent(0.5) + percent(0)), "a number that is not known, and blanks in shares");
});

test("queries cost in the table what the chart of the same time says", () => {
  const { responses } = makeBundle({ samples: 10, points: 10 });
  const { host } = responses;
  const recent = responses["fingerprints?since=-900s"];
  const sums = host.by_fingerprint.map((row) => row.cpu_ns.reduce((a, b) => a + b, 0));
  const whole = sums.reduce((a, b) => a + b, 0);
  const rows = costsIn(recent.fingerprints, recent.total_cpu_ns, host);
  host.by_fingerprint.forEach((row, i) => { if (row.key !== "other") near(rows.find((each) => row.key === `fingerprint:${each.fingerprint}`).share, sums[i] / whole, row.name); });
  near(costsIn(recent.fingerprints, 8e8, null)[0].share, 0.5, "without a chart");
});

test("parts of the elapsed time and the time in which no thread worked are all of it", () => {
  const { profile } = load();
  const cost = (row, share, threads) => ({ ...row, share, share_low: share, share_high: share, weight: share * 1e9, threads });
  const none = (row) => cost(row, 0);
  const [plan] = profile.plans;
  const answer = {
    ...profile,
    elapsed: { executions: 1, too_short: 0, ns: 1e9, worked_ns: 0.75e9, idle_ns: 0.25e9, idle_share: 0.25 },
    plans: [{ ...plan, operators: plan.operators.map((row, i) => (i === 0 ? { ...cost(row, 0.4, 3.5), skew: 1.8, skew_low: 1.2 } : none(row))) }],
    component_rows: profile.component_rows.map((row, i) => (i === 0 ? cost(row, 0.25, 1) : none(row))),
    unattributed_rows: profile.unattributed_rows.map((row, i) => (i === 0 ? cost(row, 0.1, 1) : none(row))),
  };
  const key = "812.5512.7";
  const whole = divided(answer, key);
  expect(whole.hasPlan && whole.rows[0].part.threads === 3.5, "the first operator has its threads");
  near(whole.costOf(plan.operators[0]).share, 0.4, "its share");
  const { skew } = whole.rows[0].part;
  expect(skew.value === 1.8 && skew.low === 1.2 && whole.rows[1].part.skew === null, "and its skew");
  const last = whole.rows.at(-1);
  expect(last.name === "no thread worked" && last.part.threads === null, last.name);
  near(last.part.share, 0.25, "no thread worked");
  near(whole.rows.reduce((sum, row) => sum + row.part.share, 0), 1, "all rows");
  expect(!divided(answer, "1.2.3").hasPlan, "another plan is not known");
  expect(divided(profile, key) === null, "an answer of CPU time has none of it");
});

test("runs that an engine added up count each, and a run takes what it took", () => {
  const one = { running: false, elapsed_ns: 4e6, error: "" };
  const sum = { ...one, elapsed_ns: 30e9, added_runs: { runs: 1204, failed: 3, elapsed_ns: { min: 1e6, mean: 1.5e6, max: 9e6 } } };
  expect(runsOf(one) === 1 && runsOf(sum) === 1204, `${runsOf(one)}, ${runsOf(sum)}`);
  expect(took(one) === 4e6 && took(sum) === 1.5e6, `${took(one)}, ${took(sum)}`);
  expect(plain(tookText(sum)) === "1204 runs, 1.5 ms each", tookText(sum));
  expect(failureOf(one) === "" && failureOf({ ...one, error: "cancelled" }) === "cancelled", failureOf(one));
  expect(failureOf(sum) === "3 of 1204 runs", failureOf(sum));
  const unknown = { ...one, elapsed_ns: 30e9, runs_unknown: true };
  expect(runsOf(unknown) === 1 && Number.isNaN(took(unknown)), `${took(unknown)}`);
  expect(tookText(unknown) === "not known: runs were added up", tookText(unknown));
  expect(Number.isNaN(meanElapsed({ executions: 2, elapsed_ns: { mean: 0, unknown: 2 } })), "of none it is known");
  expect(meanElapsed({ executions: 3, elapsed_ns: { mean: 5, unknown: 2 } }) === 5, "of one it is known");
  expect(meanElapsed({ executions: 3, elapsed_ns: { mean: 5 } }) === 5, "of all");
  expect(Number.isNaN(meanElapsed({ executions: 3, running: 1, elapsed_ns: { mean: 0, unknown: 2 } })), "the third one runs");
  expect(meanElapsed({ executions: 4, running: 1, elapsed_ns: { mean: 5, unknown: 2 } }) === 5, "one has ended");
  const none = { ...sum, added_runs: { ...sum.added_runs, runs: 0, failed: 0 } };
  expect(runsOf(none) === 0 && Number.isNaN(took(none)) && failureOf(none) === "", `${took(none)}`);
});

test("an execution that was sampled at another rate says at which one, and why", () => {
  expect(rateText({}) === "", rateText({}));
  const raised = { rate: { hz: 1997, why: "trigger slow: it has run for 3.1 s, 4.2 times as long as usual" } };
  expect(plain(rateText(raised)) === "1,997 Hz (trigger slow)", rateText(raised));
  expect(rateText({ rate: { hz: 49, why: "by hand" } }) === "49 Hz (by hand)", "no more words");
});

test("sums over slices of time are those of their samples", () => {
  const { profile, owners, samples, table } = load();
  const slice = 50_000_000;
  const slices = new SampleTable(profile, sliced(samples, slice), owners);
  expect(slices.time.length < table.time.length / 2, "fewer rows");
  for (const part of [everything, { ...everything, from: 4 * slice, to: 9 * slice }]) {
    const [all, some] = [table, slices].map((each) => totals(each, each.sumCells(part)));
    near(some.weight, all.weight, "weight");
    expect(some.samples === all.samples, "samples");
    near(some.effective, all.effective, "effective samples");
    for (const [owner, cost] of all.owners) near(some.owners.get(owner).weight, cost.weight, `owner ${owner}`);
  }
  const { buckets, to } = slices.columns(7);
  const series = slices.timeline(everything, slices.from, to, buckets, 1, () => [[0, 1]]);
  near(series[0].reduce((a, b) => a + b, 0), table.sumCells(everything).total, "timeline");
  const each = (to - slices.from) / buckets / slice;
  expect(Math.abs(each - Math.round(each)) < 1e-9 && buckets <= 7, `${each} slices in a column`);
  series[0].forEach((weight, i) => near(weight, table.sumCells({ ...everything, from: slices.from + i * each * slice, to: slices.from + (i + 1) * each * slice }).total, `column ${i}`));
});

test("a part of the time is drawn in whole slices, and no sample of it is left out", () => {
  const { profile, owners, samples, table } = load();
  const slice = 50_000_000;
  const slices = new SampleTable(profile, sliced(samples, slice), owners);
  const [from, to] = [4.3 * slice, 9.8 * slice];
  const columns = slices.columns(100, from, to);
  near(columns.from, 4 * slice, "begin");
  expect(columns.to >= to && columns.to < to + slice, `${columns.to / slice} slices`);
  const drawn = slices.timeline(everything, columns.from, columns.to, columns.buckets, 1, () => [[0, 1]])[0].reduce((a, b) => a + b, 0);
  near(drawn, table.sumCells({ ...everything, from: columns.from, to: columns.to }).total, "timeline");
  // What may lie in the part is counted before it is asked for: never fewer than there are.
  const within = table.range({ ...everything, from, to });
  expect(slices.samplesWithin(from, to) >= within[1] - within[0], "fewer samples are expected than there are");
  expect(slices.samplesWithin(from, to) <= table.samplesWithin(4 * slice, 10 * slice), "more than those of its slices");
});

test("periods of a query are compared by shares that add up, and only what is more than chance counts", () => {
  const { responses } = makeBundle({ samples: 100, points: 10 });
  const history = responses["history?by=day&fingerprint=9c1e&limit=1000"];
  const event = eventOf(history);
  for (const period of history.periods) {
    const lines = linesOf(period, event);
    near(lines.reduce((sum, line) => sum + shareIn(line, sumOfLines(lines)).share, 0), 1, "shares");
    expect(lines.at(-1).what === "unattributed" && lines.filter((line) => line.what === "unattributed").length === 1, "one line for what has no owner");
  }
  const [first, second, third] = history.periods;
  expect(differences(first, third, event).find((row) => row.name === "Hash join").significant, "30 and 55 of 100 differ");
  expect(differences(first, second, event).every((row) => !row.significant), "30 and 31 of 100 do not");
  const gone = { ...third, rows: third.rows.filter((row) => row.name !== "compile") };
  near(differences(first, gone, event).find((row) => row.name === "compile").b.share, 0, "what one period lacks");
});

test("the intervals of periods follow from the weights of the samples, and are not known where these are not", () => {
  const { responses } = makeBundle({ samples: 100, points: 10 });
  const history = responses["history?by=day&fingerprint=9c1e&limit=1000"];
  const event = eventOf(history);
  const [first, , third] = history.periods;
  const join = (a, b) => differences(a, b, event).find((row) => row.name === "Hash join");
  // Samples of one weight count each.
  const whole = sumOfLines(linesOf(first, event));
  const [low, high] = wilson(0.3, whole.samples);
  near(join(first, third).a.low, low, "lower end");
  near(join(first, third).a.high, high, "upper end");
  // Where a few hold nearly all of the weight, the same samples say less: 30 and 55 of 100 are chance then.
  const uneven = (period) => ({ ...period, rows: period.rows.map((row) => ({ ...row, weight_squares: row.weight_squares * 1000 })) });
  const few = join(uneven(first), uneven(third));
  expect(few.a.high - few.a.low > 3 * (high - low) && few.significant === false, `${few.a.low} to ${few.a.high}, ${few.significant}`);
  for (const missing of [null, undefined]) {
    const older = { ...third, rows: third.rows.map((row, index) => (index === 0 ? { ...row, weight_squares: missing } : row)) };
    const unknown = join(first, older);
    expect(unknown.a.known && !unknown.b.known && unknown.significant === null, `${unknown.b.low} to ${unknown.b.high}, ${unknown.significant}`);
    near(unknown.b.share, 0.55, "the share is known all the same");
  }
  // Samples of one execution are alike: of a share of the executions they say less than their number.
  const ofShare = join(first, { ...third, drawn: third.executions / 2 });
  expect(ofShare.a.known && !ofShare.b.known && ofShare.significant === null, `${ofShare.b.low} to ${ofShare.b.high}, ${ofShare.significant}`);
  near(ofShare.b.share, 0.55, "the share is known all the same");
  expect(join(first, { ...third, drawn: third.executions }).b.known, "all are sampled");
});

test("changes of a plan have their time, and what is not known of them is said", () => {
  const change = (began_ms) => ({ fingerprint: "9c1e", before: {}, after: { began_ms } });
  const none = { plan_changes: [], more: false, executions: 12, without_plan: 0, cut: false };
  expect(changesText(none) === "its plan did not change" && notMarked(none).length === 0, changesText(none));
  // Where no execution was compared, "did not change" would be a guess.
  expect(changesText({ ...none, executions: 0 }) === "whether its plan changed is not known", changesText({ ...none, executions: 0 }));
  const some = { ...none, plan_changes: [change(5000), change(undefined)], more: true };
  expect(placed(some).map((each) => each.atMs).join() === "5000", "a time is made up");
  expect(changesText(some) === "its plan changed more than 2 times", changesText(some));
  expect(notMarked(some).length === 2 && /When 1 of the changes/.test(notMarked(some)[1]), notMarked(some).join(" "));
});

test("the flame graph's leaves and own costs add up on every level", () => {
  const { profile, owners, table } = load();
  for (const order of [["pipeline", "operator", "task", "line"], ["operator", "pipeline", "task", "line"]]) {
    const root = flame(profile, owners, table, table.sumCells(everything), new Map(), order);
    near(root.weight, profile.weight, "root");
    const walk = (node) => {
      const below = node.children.reduce((sum, child) => sum + child.weight, 0);
      expect(below <= node.weight * (1 + 1e-9), `${node.name}: children ${below} of ${node.weight}`);
      node.children.forEach(walk);
    };
    walk(root);
    near(root.children.reduce((sum, child) => sum + child.weight, 0), root.weight, "first level");
  }
});

test("what several operators share is split, and its lines stay with no one of them", () => {
  const { profile, samples } = load({ samples: 100 });
  samples.cells[samples.cell[0]] = { source: 0, plan_key: "812.5512.7", pipeline: 3, how: "code", kernel: false, quality: "shared", owner: "plan", levels: { operator: [[4, 0.5], [8, 0.5]], task: [[6, 0.5], [7, 0.5]], ir: [[50, 0.5], [58, 0.5]] }, key: "", wait: "" };
  const owners = new Owners(profile);
  const table = new SampleTable(profile, samples, owners);
  const all = totals(table, table.sumCells(everything));
  near(sumOf(all.owners), all.weight, "owners");
  expect(all.shared > 0, "shared cost is not said");
  const names = [];
  const walk = (node) => {
    if (node.kind === "shared") names.push(node.name);
    node.children.forEach(walk);
  };
  walk(flame(profile, owners, table, table.sumCells(everything), new Map()));
  expect(names.length === 2, `shared code under ${names.length} operators`);
});

test("a cost whose owner the report did not name is still counted", () => {
  const { profile, samples } = load({ samples: 100 });
  samples.cells.push({ source: 0, pipeline: 0, how: "unattributed", kernel: false, quality: "exact", owner: "unattributed", key: "unattributed:of_tomorrow", wait: "" });
  samples.cell[5] = samples.cells.length - 1;
  const owners = new Owners(profile);
  const table = new SampleTable(profile, samples, owners);
  const all = totals(table, table.sumCells(everything));
  near(sumOf(all.owners), profile.weight, "owners");
  expect(owners.find("unattributed:of_tomorrow") >= 0, "no owner of that reason");
});

test("samples of another source are not added", () => {
  const { profile, samples } = load({ samples: 100 });
  samples.sources.push({ index: 3, name: "page-faults", unit: "events", period: 1, precise: true });
  samples.cells.push({ ...samples.cells[0], source: 3 });
  for (const [name, value] of [["time_ns", 5], ["tid", 815], ["weight", 1e12], ["cell", samples.cells.length - 1]]) samples[name].push(value);
  near(new SampleTable(profile, samples, new Owners(profile)).sumCells(everything).total, profile.weight, "weight");
});

test("intervals are those of Wilson's score", () => {
  const [low, high] = wilson(0.2, 50);
  near(low, 0.1124375, "low", 1e-6);
  near(high, 0.3303710, "high", 1e-6);
  expect(wilson(0, 0).join() === "0,1", "no samples");
});

test("every state survives its address, and hostile addresses are read", () => {
  const route = { page: "execution", id: "3f2a", state: { op: "4", from: "1", to: "2", pipe: "812.5512.7:3", tab: "code", q: "a&b=c #?" } };
  expect(JSON.stringify(parseRoute(formatRoute(route))) === JSON.stringify(route), formatRoute(route));
  for (const hash of ["", "#", "#/execution/", "#/execution/%E0%A4%A", "#/x/../../y?=&=1", `#/execution/${"a".repeat(100000)}`]) {
    expect(parseRoute(hash).id.length <= 400, hash);
  }
  expect(queryText({ b: 1, a: "x y", c: undefined }) === "a=x%20y&b=1", "query");
});

const cpu = { name: "cpu-clock", unit: "ns_on_cpu", period: 1000, precise: false };
const times = (count, stack, weight = 1000) => Array.from({ length: count }, () => ({ stack, weight, owner: "x" }));
const profileOf = (rows, options = {}) => new FunctionProfile(functionsAnswer(rows, { source: cpu, ...options }));
const usualRows = (hash, parse) => [...times(hash, ["main|a", "probe|a", "hash|b"]), ...times(parse, ["main|a", "parse|a"]), ...times(100, ["main|a"])];
const byName = (profile, name) => {
  const found = [];
  const walk = (node) => { if (node.name === name) found.push(node); node.children.forEach(walk); };
  walk(profile.callees);
  return found;
};

test("a call tree holds every sample once, from above and from below", () => {
  const profile = profileOf([...usualRows(300, 50), ...times(7, ["main|a", "probe|a", "probe|a", "|lib.so"])]);
  const check = (node) => {
    near(node.weight, node.self.weight + node.children.reduce((sum, child) => sum + child.weight, 0), node.name);
    node.children.forEach(check);
  };
  for (const root of [profile.callees, profile.callers]) {
    check(root);
    near(root.weight, profile.weight, "root");
  }
  near(profile.functions.reduce((sum, each) => sum + each.self.weight, 0), profile.weight, "own code of all functions");
  near(profile.libraries.reduce((sum, each) => sum + each.self.weight, 0), profile.weight, "libraries");
  expect(profile.callers.children[0].name === "hash", "the dearest own code comes first");
  near(profile.unnamed.samples, 7, "samples without a name");
  expect(byName(profile, "probe").length === 2, "recursion is a node of its own");
});

test("a search counts a frame below another that was found once", () => {
  const profile = profileOf([...times(10, ["main|a", "sort|a", "sort_rows|a"]), ...times(30, ["main|a", "scan|a"])]);
  const { found, sum } = searchTree(profile.callees, " SORT ");
  expect(found.size === 2, `${found.size} frames`);
  near(sum.samples, 10, "samples");
  near(searchTree(profile.callees, "a").sum.samples, 40, "by the library's name too");
  expect(searchTree(profile.callees, "").found.size === 0 && searchTree(profile.callees, "(").found.size === 0, "nothing is looked for, and nothing is found");
});

test("a frame has the same key in two profiles, and its path leads to it", () => {
  const [a, b] = [profileOf(usualRows(300, 50)), profileOf(usualRows(20, 500).reverse())];
  const [one, other] = [byName(a, "hash")[0], byName(b, "hash")[0]];
  expect(one.key === other.key && one.key !== byName(a, "probe")[0].key, "keys are those of the path");
  expect(pathTo(a.callees, one.key).map((node) => node.name).join() === "all samples,main,probe,hash", "the path");
  expect(pathTo(a.callees, "nowhere").length === 1, "an unknown key leads to the root");
});

test("a change is more than chance only where the intervals do not overlap", () => {
  const [now, old] = [profileOf(usualRows(400, 60)), profileOf(usualRows(300, 50))];
  const same = compareTrees(now, old);
  expect([...same.of.values()].every((each) => each.known), "all frames are known on both sides");
  expect(!same.of.get(byName(now, "parse")[0]).sure, "10.7 % of 560 against 11.1 % of 450 is chance");
  const grown = profileOf(usualRows(300, 600));
  const { of, gone } = compareTrees(grown, old);
  const parse = of.get(byName(grown, "parse")[0]);
  expect(parse.sure && parse.by > 0.4, `parse grew by ${parse.by}`);
  near(parse.by, 600 / 1000 - 50 / 450, "the difference of the shares");
  expect(of.get(byName(grown, "hash")[0]).by < 0, "hash has a smaller share");
  near(of.get(grown.callees).by, 0, "all is all");
  expect(gone.length === 0, "nothing is gone");
  expect(compareTrees(profileOf(usualRows(300, 0)), old).gone[0].path === "parse below main", "what is not there any more is named");
});

test("what the other profile added up with others is a range, and no number", () => {
  const [now, old] = [profileOf(usualRows(300, 50)), profileOf(usualRows(300, 50), { fewest: 100 })];
  const change = compareTrees(now, old).of.get(byName(now, "parse")[0]);
  expect(!change.known && !change.sure && change.by === 0, JSON.stringify(change));
  const much = profileOf(usualRows(300, 900));
  const sure = compareTrees(much, old).of.get(byName(much, "parse")[0]);
  expect(!sure.known && sure.sure && sure.by > 0.4, "it is more than all of the rest was");
  // What a tree does not show is not gone.
  expect(compareTrees(profileOf(usualRows(300, 50), { fewest: 100 }), now).gone.length === 0, "parse is among the rest");
});

test("functions of two profiles are compared by name and library", () => {
  const rows = compareFunctions(profileOf(usualRows(300, 600)), profileOf([...usualRows(300, 50), ...times(40, ["parse|b"])]));
  const parse = rows.filter((row) => row.name === "parse");
  expect(parse.length === 2, "one of each library");
  expect(parse.find((row) => row.object === "a").change.sure, "grown");
  const gone = parse.find((row) => row.object === "b");
  near(gone.now.share, 0, "not there any more");
  near(gone.change.before.share, 40 / 490, "it was there");
  near(rows.reduce((sum, row) => sum + row.now.share, 0), 1, "all shares now");
});

test("functions that a hostile answer tells wrongly break nothing", () => {
  const answer = functionsAnswer(usualRows(3, 3), { source: cpu });
  answer.callees.parent = answer.callees.parent.map(() => 99);
  answer.callees.weight = [];
  answer.functions.object = [];
  answer.callers.function = [-1, 77, "x", null];
  const profile = new FunctionProfile(answer);
  expect(profile.callees.children.length === 0 && profile.functions.every((each) => each.object === ""), "what is not there is nothing");
  searchTree(profile.callers, "x");
  compareTrees(profile, profile);
});

test("the parts of a function's owners are those of its cost", () => {
  const { responses } = makeBundle();
  const profile = new FunctionProfile(responses["executions/all/functions"]);
  const shown = responses["executions/all/profile"];
  near(profile.weight, shown.weight, "the weight of the view");
  const main = profile.functions.find((each) => each.name === "main");
  for (const { owner, total } of main.owners) {
    const row = shown.plans[0].operators.find((each) => each.key === profile.answer.owners[owner].key);
    if (row) near(total.weight, row.weight, row.name);
  }
  near(main.owners.reduce((sum, each) => sum + each.total.weight, 0), profile.weight, "all owners of main");
});

test("a day has its minutes, also when clocks change, and each stands in its hour", () => {
  process.env.TZ = "Europe/Berlin";
  expect(dayOf("2026-01-31").minutes === 1440 && dayOf("2026-03-29").minutes === 1380 && dayOf("2026-10-25").minutes === 1500, "minutes of days");
  for (const wrong of ["", "2026-02-31", "2026-1-1", "x"]) expect(dayOf(wrong) === null, wrong);
  expect(dayBeside(dayOf("2026-03-29"), 1) === "2026-03-30" && dayBeside(dayOf("2026-01-01"), -1) === "2025-12-31", "the days beside it");
  const day = dayOf("2026-10-25");
  const row = (key, costs) => ({ key, name: key, cpu_ns: Array.from({ length: day.minutes }, (_, i) => costs[i] ?? 0) });
  const host = { by_fingerprint: [row("fingerprint:a", { 0: 60e9, 61: 30e9 }), row("fingerprint:b", { 61: 90e9, 1499: 6e9 }), row("other", { 61: 99e9 })] };
  const hours = hoursOf(day, host, "");
  expect(hours.length === 25 && hours[24].cpus.length === 60, `${hours.length} hours`);
  near(hours[1].cpus[1], 3.65, "CPUs of a minute");
  near(hours[24].cpus[59], 0.1, "the last minute");
  near(hours.reduce((sum, hour) => sum + hour.ns, 0), 285e9, "the whole day");
  expect(hours[1].dearest.key === "fingerprint:b" && hours[2].dearest === null, "the dearest query; what has no name is none");
  near(hoursOf(day, host, "fingerprint:a")[1].cpus[1], 0.5, "of one query");
  expect(inMinute(host, 61).map((each) => each.key).join() === "other,fingerprint:b,fingerprint:a", "the dearest first");
});

test("moments of a short time are told apart, and days have no seconds", () => {
  process.env.TZ = "Europe/Berlin";
  const at = Date.parse("2026-01-31T14:05:06.789+01:00");
  const digits = (text) => text.replace(/[^0-9]/g, " ").trim().split(/ +/).length;
  expect(digits(timeOfDay(at, 100)) === 4 && timeOfDay(at, 100).includes("789"), timeOfDay(at, 100));
  for (const span of [150, 1500, 15_000, 60_000]) expect(timeOfDay(at, span) !== timeOfDay(at + span / 5, span), `${span} ms: ${timeOfDay(at, span)} twice`);
  expect(digits(timeOfDay(at, 60_000)) === 3 && digits(timeOfDay(at, 3_600_000)) === 2, timeOfDay(at, 60_000));
  expect(!/:/.test(timeOfBucket(at, 86_400_000, 86_400_000 * 30)), "a day has no time");
  expect(/31/.test(timeOfBucket(at, 3_600_000, 86_400_000 * 2)), "of several days the day is named");
});

test("answers of a report file that share lines come back whole, and hostile ones end", async () => {
  const text = "größe".repeat(40000);
  expect((await unpack(gzipSync(text).toString("base64"))) === text, "what was compressed comes back");
  const base = { plan_key: "p", lines: [{ line: 1, text: "a", weight: 5 }, { line: 2, text: "b" }], assembly: [{ code: 7, samples: 5, instructions: [{ offset: 0, weight: 5 }, { offset: 4 }] }] };
  const responses = {
    all: base,
    one: { like: "all", lines: { 0: { line: 1, text: "a" }, 1: { line: 2, text: "b", weight: 3 } }, assembly: [{ code: 7, like: 0, samples: 3, instructions: { 1: { offset: 4, weight: 3 } } }, { code: 8, instructions: [{ offset: 9 }] }], rest: { plan_key: "p", weight: 3 } },
    again: { same: "one" },
    round: { same: "round" },
    likeItself: { like: "likeItself", lines: {} },
    lost: { like: "nothing", lines: {} },
    odd: { like: "all", lines: { 99: { line: 1 }, length: { x: 1 }, 0: 7 }, assembly: [{ like: "__proto__", instructions: {} }, { like: 44, instructions: 3 }, null], rest: 5 },
  };
  for (const key of ["one", "again"]) {
    const listing = answerIn(responses, key);
    expect(listing.lines[0].weight === undefined && listing.lines[1].weight === 3 && listing.weight === 3, JSON.stringify(listing));
    expect(JSON.stringify(listing.assembly) === JSON.stringify([{ code: 7, samples: 3, instructions: [{ offset: 0, weight: 5 }, { offset: 4, weight: 3 }] }, { code: 8, instructions: [{ offset: 9 }] }]), JSON.stringify(listing.assembly));
  }
  expect(answerIn(responses, "all") === base && base.lines[1].weight === undefined, "what is shared stays as it was");
  for (const key of ["round", "likeItself", "lost", "toString"]) expect(answerIn(responses, key) === undefined, key);
  const odd = answerIn(responses, "odd");
  expect(odd.lines.length === 2 && odd.lines[0] === base.lines[0] && odd.assembly.every((each) => Array.isArray(each.instructions)), JSON.stringify(odd));
});

process.exit(await finish());
