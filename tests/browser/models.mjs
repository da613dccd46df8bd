// What the page makes of answers about waits, threads and elapsed time, without a browser.
import { expect, finish, near, plain, test } from "./check.mjs";
import { makeBundle } from "./fixture.mjs";
import { divided } from "../../viewer/web/src/model/divided.ts";
import { elapsedFlame } from "../../viewer/web/src/model/elapsed_flame.ts";
import { heldUp, holdersOf, holdersWanted } from "../../viewer/web/src/model/locks.ts";
import { operatorKey, Owners } from "../../viewer/web/src/model/owners.ts";
import { notesOf, viewedText } from "../../viewer/web/src/model/runs.ts";
import { SampleTable } from "../../viewer/web/src/model/samples.ts";
import { Workers } from "../../viewer/web/src/model/workers.ts";

const s = 1e9;
const beganMs = 1764860000000;
const idOf = (number) => `${number}`.padStart(2, "0").repeat(16);
const blocker = (number, from, to, { execution = true } = {}) => ({ pid: 5000 + number, process_start: 7, execution: execution ? idOf(number) : null, from_ns: from * s, to_ns: to * s });
// It began at `began` s.
const waits = (number, blockers, { began = 0, ...more } = {}) => ({ id: idOf(number), pid: 5000 + number, process_start: 7, comm: "postgres", plan_name: `plan ${number}`, began_ms: beganMs + began * 1e3, running: false, elapsed_ns: 10 * s, blockers, ...more });
const byId = (rows) => new Map(rows.map((row) => [row.id, row]));
const linesOf = ({ rows }) => rows.map((row) => `${row.depth} ${row.pid} ${row.from / s} ${row.to / s}`);

test("holders are a tree with times since the begin of the execution", () => {
  const root = waits(1, [blocker(2, 2, 5)]);
  // It began 1 s later, and its own waits are told since then.
  const holder = waits(2, [blocker(3, 0, 3, { execution: false })], { began: 1 });
  expect(holdersWanted(root, new Map()).join() === idOf(2), holdersWanted(root, new Map()).join());
  const known = byId([holder]);
  expect(holdersWanted(root, known).length === 0, "more is asked for than there is");
  const tree = holdersOf(root, known);
  expect(linesOf(tree).join("; ") === "1 5002 2 5; 2 5003 1 4", linesOf(tree).join("; "));
  expect(tree.rows[0].row === holder && tree.rows[1].row === null && tree.leftOut === 0, "what is known of them");
  // Of a holder whose begin is not known nobody knows what it waited for meanwhile.
  expect(linesOf(holdersOf(root, byId([{ ...holder, began_ms: undefined }]))).length === 1, "a begin is made up");
  expect(holdersOf(root, new Map([[idOf(2), null]])).rows[0].row === null, "it was asked for, and is not there");
});

test("below a holder stands only what it waited for meanwhile", () => {
  const root = waits(1, [blocker(2, 2, 5)]);
  expect(linesOf(holdersOf(root, byId([waits(2, [blocker(3, 6, 7)])]))).join() === "1 5002 2 5", "another time");
});

test("circles and crowds of holders end, and what is left out is counted", () => {
  const all = Array.from({ length: 64 }, () => blocker(2, 1, 9));
  const back = waits(2, [blocker(1, 1, 9)], { blockers_left_out: 3 });
  const tree = holdersOf(waits(1, all), byId([waits(1, all), back]));
  expect(tree.rows.length === 50 && tree.leftOut > 14, `${tree.rows.length} rows, ${tree.leftOut} left out`);
  const self = waits(3, [blocker(3, 1, 2)]);
  expect(holdersOf(self, byId([self])).rows.length === 1, "it waits for itself");
  expect(holdersWanted(self, new Map()).length === 0, "it is known");
  // A chain that never ends.
  const chain = Array.from({ length: 40 }, (_, i) => waits(i + 10, [blocker(i + 11, 0, 9)]));
  expect(Math.max(...holdersOf(chain[0], byId(chain)).rows.map((row) => row.depth)) === 8, "as deep as it likes");
});

const running = (number, blockers, more = {}) => waits(number, blockers, { running: true, elapsed_ns: undefined, ...more });
const nowAt = (seconds) => beganMs + seconds * 1e3;
const waitLines = ({ rows }) => rows.map((row) => `${row.depth} ${row.pid} ${row.waits === null ? "holds" : row.waits / s}`);

test("who waits now is a tree below who holds, the longest wait first", () => {
  const now = heldUp([running(3, [blocker(2, 6, 9)]), running(2, [blocker(1, 2, 9)]), running(4, [blocker(2, 5, 9)])], nowAt(10));
  const wanted = ["0 5001 holds", "1 5002 7", "2 5004 4", "2 5003 3"];
  expect(waitLines(now).join("; ") === wanted.join("; "), waitLines(now).join("; "));
  expect(now.rows[0].row === null && now.rows[1].row.plan_name === "plan 2", "what is known of them");
});

test("what was not seen for a while, has ended, or holds nobody up is not waiting now", () => {
  const row = running(1, [blocker(2, 1, 3), blocker(3, 1, 9, { execution: false })]);
  expect(waitLines(heldUp([row], nowAt(10))).join("; ") === "0 5003 holds; 1 5001 8", "the newer one");
  expect(heldUp([row], nowAt(60)).rows.length === 0, "not seen any more");
  expect(heldUp([{ ...row, running: false }], nowAt(10)).rows.length === 0, "it ended");
  expect(heldUp([running(1, undefined), running(2, [])], nowAt(10)).rows.length === 0, "nobody holds it up");
});

test("circles and crowds of waits end", () => {
  const circle = heldUp([running(1, [blocker(2, 1, 9)]), running(2, [blocker(1, 1, 9)])], nowAt(10));
  expect(circle.rows.length === 3, `${circle.rows.length}: one of them as the holder, and both as they wait`);
  const many = heldUp(Array.from({ length: 80 }, (_, i) => running(i + 10, [blocker(1, 1, 9)])), nowAt(10));
  expect(many.rows.length === 50 && many.leftOut === 31, `${many.rows.length} lines, ${many.leftOut} more`);
});

// Samples of [source, pid, tid, end, length] in s: source 0 is CPU time, 1 is time off the CPU, 2 is the run queue.
function threadsOf(rows, change = () => undefined) {
  const { responses } = makeBundle({ samples: 10, points: 10 });
  const profile = responses["executions/all/profile"];
  const samples = structuredClone(responses["executions/all/samples"]);
  samples.sources.push({ index: 1, name: "off-cpu", unit: "ns_off_cpu", period: 1, precise: true });
  const kinds = [{ source: 0, wait: "" }, { source: 1, wait: "lock" }, { source: 1, wait: "run_queue" }];
  const cellOf = new Map();
  samples.cells = rows.flatMap(([kind, pid, , , , key]) => {
    const name = `${kind} ${pid} ${key}`;
    if (cellOf.has(name)) return [];
    cellOf.set(name, cellOf.size);
    return [{ plan_key: "812.5512.7", pid, pipeline: 3, how: "code", kernel: false, quality: "exact", owner: key ? "component" : "plan", levels: { operator: [[4, 1]] }, key: key ?? "", ...kinds[kind] }];
  });
  Object.assign(samples, { total: rows.length, count: rows.length, tid: rows.map((row) => row[2]), time_ns: rows.map((row) => row[3] * s), weight: rows.map((row) => row[4] * s), cell: rows.map(([kind, pid, , , , key]) => cellOf.get(`${kind} ${pid} ${key}`)) });
  change(profile, samples);
  return Workers.of(profile, samples, new SampleTable(profile, samples, new Owners(profile)));
}
const everything = { from: -Infinity, to: Infinity, tid: null, pipeline: null };
const laneOf = (workers, filter = {}, range = { from: 0, to: 4 * s }, parts = 4) => workers.lane({ ...everything, ...filter }, range, parts);
const shown = (values) => [...values].map((value) => Math.round(value * 1e6) / 1e6).join();

test("the lane of threads says how many worked and how many waited in each part of the time", () => {
  const rows = [[0, 1, 7, 2, 2], [0, 1, 8, 1, 1], [0, 1, 8, 4, 0.5], [1, 1, 8, 3.5, 2.5], [1, 1, 9, 4, 4], [2, 1, 7, 4, 2]];
  const lane = laneOf(threadsOf(rows));
  expect(lane.threads === 2, `${lane.threads} threads: one has no CPU time`);
  expect(shown(lane.working) === "2,1,0,0.5", shown(lane.working));
  expect(shown(lane.waiting) === "0,1,1,0.5", `${shown(lane.waiting)}: a thread without CPU time, or one that waits for a CPU, is there`);
  // Of a part of the time, what began before is there with what lies in it.
  const part = laneOf(threadsOf(rows), {}, { from: 1.5 * s, to: 2.5 * s }, 2);
  expect(part.threads === 1 && shown(part.working) === "1,0" && shown(part.waiting) === "1,1", `${part.threads}; ${shown(part.working)}; ${shown(part.waiting)}`);
  expect(laneOf(threadsOf(rows), {}, { from: 2.5 * s, to: 3 * s }) === null, "nobody worked there");
});

test("no thread works twice at a time, and threads of two processes are two", () => {
  // Each sample weighs twice what lies between two.
  const means = [0, 1, 2, 3].map((i) => [0, 1, 7, i + 1, i === 0 ? 1 : 2]);
  expect(shown(laneOf(threadsOf(means)).working) === "1,1,1,1", shown(laneOf(threadsOf(means)).working));
  const two = laneOf(threadsOf([[0, 1, 7, 4, 4], [0, 2, 7, 4, 4]]));
  expect(two.threads === 2 && shown(two.working) === "2,2,2,2", `${two.threads} threads`);
});

test("a span over many parts and its edges add up to its length", () => {
  let [state, whole] = [12345, 0];
  const next = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  const rows = Array.from({ length: 200 }, (_, i) => {
    const length = 3 * next() ** 3;
    whole += length;
    return [0, 1, i, 3 + next() * 90, length]; // each of a thread of its own
  });
  for (const parts of [1, 7, 1000]) {
    const lane = laneOf(threadsOf(rows), {}, { from: 0, to: 100 * s }, parts);
    near(lane.working.reduce((sum, each) => sum + each, 0) * (100 / parts), whole, `${parts} parts`, 1e-6);
  }
});

test("the chosen thread and pipeline narrow the lane", () => {
  const workers = threadsOf([[0, 1, 7, 2, 2], [0, 1, 8, 4, 4]]);
  expect(shown(laneOf(workers, { tid: 7 }).working) === "1,1,0,0", "the thread");
  expect(shown(laneOf(workers, { pipeline: "812.5512.7:3" }).working) === "2,2,1,1", "its pipeline");
  expect(laneOf(workers, { pipeline: "812.5512.7:1" }) === null, "another pipeline");
});

test("Tailor's own agent is no thread that waits, and without time off the CPU nothing is said of waiting", () => {
  const agent = "component:1.1:4294967295";
  const lane = laneOf(threadsOf([[0, 1, 7, 2, 2], [0, 1, 9, 1, 0.01, agent], [1, 1, 9, 4, 2, agent]]));
  expect(shown(lane.waiting) === "0,0,0,0", shown(lane.waiting));
  const workers = threadsOf([[0, 1, 7, 2, 2]], (profile, samples) => samples.sources.pop());
  expect(laneOf(workers).waiting === null, "a number is made up");
});

test("where samples do not say which threads worked, there is no lane", () => {
  const rows = [[0, 1, 7, 2, 2], [0, 1, 8, 4, 4]];
  expect(threadsOf(rows) !== null, "the twin of this check");
  expect(threadsOf(rows, (profile) => { profile.recording.aggregated_ns = 1; }) === null, "samples were added up");
  expect(threadsOf(rows, (profile, samples) => { profile.source.unit = samples.sources[0].unit = "events"; }) === null, "no time on the CPU");
  expect(threadsOf(rows, (profile, samples) => Object.assign(samples, { slice_ns: 1e6, samples: [1, 1], squares: [1, 1], tid: [] })) === null, "slices");
});

const { responses } = makeBundle({ samples: 100, points: 10 });
const profile = responses["executions/all/profile"];
const owners = new Owners(profile);
const planKey = "812.5512.7";
const node = (key, kind, id, name, weight, children = []) => ({ key, kind, id, name, weight: weight * s, samples: weight * 10, children });
const tree = node("", "all", 0, "all", 4, [
  node(`pipeline:${planKey}:3`, "pipeline", 3, "probe lineitem", 2.5, [
    node(`operator:${planKey}:4`, "operator", 4, "Hash join", 1.5, [node(`task:${planKey}:7`, "task", 7, "Probe", 1.5, [node(`line:${planKey}:12`, "line", 12, "%v = load", 1), node("", "rest", 0, "lines below 0.01 %", 0.5)])]),
    node(`operator:${planKey}:8`, "operator", 8, "Scan", 1),
  ]),
  node("", "idle", 0, "no thread worked", 1),
  node(`pipeline:${planKey}:2`, "pipeline", 2, "build orders", 0.5, [node(`operator:${planKey}:4`, "operator", 4, "Hash join", 0.5)]),
]);
const nodesOf = (root) => [root, ...root.children.flatMap(nodesOf)];

test("the flame graph of the elapsed time is the server's tree, with the names of the page", () => {
  const root = elapsedFlame(tree, owners, new Map([[`${planKey}:12`, "%v = load i64"]]), null);
  const all = nodesOf(root);
  expect(all.length === nodesOf(tree).length && new Set(all.map((each) => each.key)).size === all.length, "a node is gone, or two have one key");
  const named = (kind) => all.filter((each) => each.kind === kind).map((each) => each.name).join("; ");
  expect(named("pipeline") === "pipeline 3: probe lineitem; pipeline 2: build orders", named("pipeline"));
  expect(named("operator").startsWith("Hash join o_orderkey = l_orderkey; Scan"), named("operator"));
  expect(named("line") === "12: %v = load i64" && named("idle") === "no thread worked", `${named("line")}, ${named("idle")}`);
  const line = all.find((each) => each.kind === "line");
  expect(line.line === 12 && line.plan === planKey && line.owner === owners.find(operatorKey(planKey, 4)), "a line leads to its code, and has the colour of its operator");
  near(root.weight, 4 * s, "all of it");
  const later = elapsedFlame(node("", "all", 0, "all", 1, [node("x", "of tomorrow", 0, "new", 1)]), owners, new Map(), null);
  expect(later.children[0].kind === "rest" && later.children[0].name === "new", "a kind that is not known");
});

test("of one operator the flame graph of the elapsed time has its own parts alone", () => {
  const root = elapsedFlame(tree, owners, new Map(), owners.find(operatorKey(planKey, 4)));
  near(root.weight, 2 * s, "in both pipelines");
  expect(nodesOf(root).every((each) => each.kind !== "idle" && !each.name.startsWith("Scan")), "others are there");
  const [first] = root.children;
  near(first.weight, 1.5 * s, "its pipeline");
  const none = elapsedFlame(tree, owners, new Map(), owners.find(operatorKey(planKey, 6)));
  expect(none.weight === 0 && none.children.length === 0, "it has no part");
});

test("pipelines have their parts of the elapsed time, with threads and skew", () => {
  const [plan] = profile.plans;
  const pipelines = plan.pipelines.map((row, i) => ({ ...row, weight: i === 2 ? 0.5 * s : 0, share: i === 2 ? 0.5 : 0, ...(i === 2 && { threads: 1.5, skew: 1.9, skew_low: 1.2 }) }));
  const answer = { ...profile, elapsed: { executions: 1, too_short: 0, ns: s, worked_ns: s, idle_ns: 0, idle_share: 0 }, plans: [{ ...plan, pipelines }] };
  const found = divided(answer, planKey).pipelines;
  expect(found.length === 1 && found[0].name === "pipeline 3" && found[0].detail === "probe lineitem", JSON.stringify(found));
  expect(found[0].part.threads === 1.5 && found[0].part.skew.value === 1.9 && found[0].part.skew.low === 1.2, JSON.stringify(found[0].part));
});

test("a view says which runs it is of, and what was left out", () => {
  expect(viewedText({}) === "", viewedText({}));
  expect(viewedText({ runs: { executions: 8, sampled: 2, left_out: 0 } }) === "8 runs; 2 executions have samples", viewedText({ runs: { executions: 8, sampled: 2, left_out: 0 } }));
  const text = plain(viewedText({ runs: { executions: 12000, sampled: 2, left_out: 3 }, notes: ["1 execution is left out: the host\nwas booted since then\u0007"] }));
  expect(text === "12.0 k runs; 2 executions have samples; 3 others, the older ones, are left out. 1 execution is left out: the host was booted since then\ufffd", text);
  expect(notesOf(undefined).length === 0, "programs before this one say nothing");
});

process.exit(await finish());
