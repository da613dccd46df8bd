// A made-up profile in the shapes of docs/http-api.md: for tests that need to know what is in it, or more of it, or
// worse, than a real engine says. Every random number comes from a fixed seed.
import { functionsAnswer, stacksOf } from "./functions_fixture.mjs";

function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export const hostile = `</script><img src=x onerror="window.hacked=1"><b onmouseover=alert(1)>&amp;{{x}}\u202e\u0000`;

function wilson(share, n) {
  const z = 1.959963984540054;
  const middle = (share + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

const accounting = (samples, nobody) => ({
  scope: "recording", received: samples, attributed: samples - nobody, unattributed: nobody, filtered: 0, late: 0, lost_ring: 0,
  lost_hardware: 0, throttled: 0, gap_ns: 0, by_cpu: [], unwritten_samples: 0, lost_share: 0, records_filtered: 0,
});
const file = { finished: true, damaged_spots: 0, missing_blocks: 0, malformed_blocks: 0, missing_samples: 0, tail_bytes: 0, first_problem: "" };
const zero = { share: 0, share_low: 0, share_high: 0, samples: 0, weight: 0, kernel_weight: 0, inferred_weight: 0, shared_weight: 0 };

// options: samples, points, name (of everything that has a name), span_ns, live (what a daemon tells, and not a file)
export function makeBundle(options = {}) {
  const next = random(options.seed ?? 7);
  const count = options.samples ?? 4000;
  const span = options.span_ns ?? 2.1e9;
  const name = (text) => (options.name === undefined ? text : `${options.name} ${text}`);
  const planKey = "812.5512.7";
  const operators = [
    [1, "Output", "output", [2], [["columns", "l_orderkey, revenue, o_orderdate"], ["estimated_rows", "10"]]],
    [2, "Sort", "sort", [3], [["keys", "revenue desc, o_orderdate"], ["estimated_rows", "10"]]],
    [3, "Group by", "group_by", [4], [["keys", "l_orderkey, o_orderdate, o_shippriority"], ["estimated_rows", "11620"]]],
    [4, "Hash join", "hash_join", [5, 8], [["condition", "o_orderkey = l_orderkey"], ["estimated_rows", "30519"], ["measured_rows", "305190"]]],
    [5, "Hash join", "hash_join", [6, 7], [["condition", "c_custkey = o_custkey"], ["estimated_rows", "147126"]]],
    [6, "Scan", "scan", [], [["table", "customer"], ["estimated_rows", "30142"]]],
    [7, "Scan", "scan", [], [["table", "orders"], ["estimated_rows", "727305"]]],
    [8, "Scan", "scan", [], [["table", "lineitem"], ["estimated_rows", "3241776"]]],
  ];
  const pipelines = [
    [1, "build customer", [], [[1, 6, "Scan customer"], [2, 5, "Build hash table"]]],
    [2, "build orders", [1], [[3, 7, "Scan orders"], [4, 5, "Probe"], [5, 4, "Build hash table"]]],
    [3, "probe lineitem", [2], [[6, 8, "Scan lineitem"], [7, 4, "Probe"], [8, 3, "Aggregate"]]],
    [4, "sort and output", [3], [[9, 3, "Scan groups"], [10, 2, "Sort"], [11, 1, "Output"]]],
  ];
  // Phases of the execution: [until, pipeline, tasks with weights]
  const phases = [
    [0.06, 1, [[1, 3], [2, 2]]],
    [0.34, 2, [[3, 3], [4, 3], [5, 6]]],
    [0.95, 3, [[6, 5], [7, 9], [8, 5]]],
    [1, 4, [[9, 2], [10, 3], [11, 1]]],
  ];
  const operatorOfTask = new Map(pipelines.flatMap(([, , , tasks]) => tasks.map(([id, operator]) => [id, operator])));
  const nameOfTask = new Map(pipelines.flatMap(([, , , tasks]) => tasks.map(([id, , text]) => [id, text])));
  const lines = [];
  const linesOfTask = new Map();
  for (const [id, label, , tasks] of pipelines) {
    lines.push({ kind: "function", text: `define void @pipeline_${id}(ptr %state, i64 %begin, i64 %end) {` });
    for (const [task, , text] of tasks) {
      lines.push({ kind: "block", text: `${text.toLowerCase().replaceAll(" ", "_")}_${task}:` });
      const own = [];
      for (const op of ["%p = getelementptr inbounds i64, ptr %column, i64 %row", "%v = load i64, ptr %p, align 8", "%h = call i64 @llvm.x86.sse42.crc32.64.64(i64 %seed, i64 %v)", "%slot = and i64 %h, %mask", "%e = load ptr, ptr %slot.p, align 8", "%hit = icmp eq i64 %key, %v", "br i1 %hit, label %match, label %next"]) {
        lines.push({ kind: "instruction", text: `  ${name(op)}`, task });
        own.push(lines.length);
      }
      linesOfTask.set(task, own);
    }
    lines.push({ kind: "other", text: "}" });
    void label;
  }
  const cells = [];
  const cellOf = new Map();
  const cell = (key, make) => {
    if (!cellOf.has(key)) cellOf.set(key, cells.push(make()) - 1);
    return cellOf.get(key);
  };
  const rows = Array.from({ length: count }, () => Math.floor(next() * span)).sort((a, b) => a - b);
  const columns = { time_ns: [], tid: [], weight: [], cell: [] };
  const weight = Math.round((2 * span * 0.96) / count);
  const costs = new Map();
  let operatorSamples = 0;
  let componentSamples = 0;
  let nobody = 0;
  for (const time of rows) {
    const [, pipeline, tasks] = phases.find(([until]) => time / span <= until);
    const dice = next();
    let which;
    if (dice < 0.006) {
      nobody++;
      which = cell("u", () => ({ source: 0, pipeline: 0, how: "unattributed", kernel: true, quality: "exact", owner: "unattributed", key: "unattributed:unknown_kernel", wait: "" }));
    } else if (dice < 0.03 + (time < span * 0.02 ? 0.5 : 0)) {
      componentSamples++;
      which = cell("c", () => ({ source: 0, pipeline: 0, how: "component_interval", kernel: false, quality: "exact", owner: "component", key: "component:812.5512:2", wait: "" }));
    } else {
      operatorSamples++;
      let pick = next() * tasks.reduce((sum, [, w]) => sum + w, 0);
      const [task] = tasks.find(([, w]) => (pick -= w) <= 0) ?? tasks[0];
      const own = linesOfTask.get(task);
      const line = own[Math.floor(next() ** 2 * own.length)];
      const operator = operatorOfTask.get(task);
      const tagged = dice > 0.93;
      costs.set(`o${operator}`, (costs.get(`o${operator}`) ?? 0) + 1);
      costs.set(`t${task}`, (costs.get(`t${task}`) ?? 0) + 1);
      costs.set(`p${pipeline}`, (costs.get(`p${pipeline}`) ?? 0) + 1);
      costs.set(`l${line}`, (costs.get(`l${line}`) ?? 0) + (tagged ? 0 : 1));
      which = cell(`${task}/${tagged ? 0 : line}`, () => ({
        source: 0, plan_key: planKey, pipeline, how: tagged ? "tag" : "code", kernel: false, quality: "exact", owner: "plan",
        levels: tagged ? { operator: [[operator, 1]], task: [[task, 1]] } : { operator: [[operator, 1]], task: [[task, 1]], ir: [[line, 1]] }, key: "", wait: "",
      }));
    }
    columns.time_ns.push(time);
    columns.tid.push(next() < 0.5 ? 815 : 816);
    columns.weight.push(weight);
    columns.cell.push(which);
  }
  const cost = (samples) => {
    const share = samples / count;
    const [share_low, share_high] = wilson(share, count);
    return { ...zero, share, share_low, share_high, samples, weight: samples * weight };
  };
  const attributes = (list) => list.map(([key, value]) => ({ key, value: key === "estimated_rows" || key === "measured_rows" ? value : name(value) }));
  const depth = new Map([[1, 0]]);
  for (const [id, , , inputs] of operators) for (const input of inputs) depth.set(input, depth.get(id) + 1);
  const plan = {
    process: { pid: 812, start: 5512 }, plan: 7, plan_key: planKey, name: name("tpch-3"), executions: 1, cgroup: "", ...cost(operatorSamples),
    operators: operators.map(([id, text, kind, inputs, list]) => ({ id, key: `operator:${planKey}:${id}`, name: name(text), kind, attributes: attributes(list), inputs, depth: depth.get(id), by: {}, ...cost(costs.get(`o${id}`) ?? 0) })),
    pipelines: pipelines.map(([id, text, depends_on, tasks]) => ({ id, name: name(text), depends_on, ...cost(costs.get(`p${id}`) ?? 0), tasks: tasks.map(([task, operator, label]) => ({ id: task, name: name(label), kind: "", operators: [operators[operator - 1][1]], ...cost(costs.get(`t${task}`) ?? 0) })) })),
  };
  const source = { index: 0, name: "cpu-clock", unit: "ns_on_cpu", period: weight, precise: false };
  const recording = { host: name("db7"), kernel: "6.1.0", command: name("weft --query tpch-3"), daemon_version: "0.1.0", wall_clock_ns: 0, capture: "timer, registers", clock_source: "perf page", clock_error_ns: 40, cpus: 2, steal_ns: 0, own_cpu_ns: 1, cpu_used_ns: 1, cpu_sampled_ns: 1, aggregated_ns: 0 };
  const profile = {
    recording, source, samples: count, weight: count * weight, effective_samples: count, operators: cost(operatorSamples), engine_components: cost(componentSamples),
    unattributed: cost(nobody), all: cost(count), component_rows: [{ key: name("compile"), owner: "component:812.5512:2", name: name("compile"), process: { pid: 812, start: 5512 }, ...cost(componentSamples) }],
    unattributed_rows: [{ key: "unknown_kernel", owner: "unattributed:unknown_kernel", name: "kernel, on nobody's known behalf", ...cost(nobody) }], unattributed_places: [],
    by: {}, other_sources: [{ name: "page-faults", unit: "events", period: 1, precise: true, samples: 12, weight: 12 }], accounting: accounting(count, nobody), file, plans: [plan],
  };
  const listing = {
    plan_key: planKey, name: plan.name, level: "ir",
    lines: lines.map((each, index) => ({
      line: index + 1, kind: each.kind, text: each.text, ...(each.task ? { operators: [name(operators[operatorOfTask.get(each.task) - 1][1])], operator_keys: [`operator:${planKey}:${operatorOfTask.get(each.task)}`], tasks: [nameOfTask.get(each.task)] } : {}),
      ...cost(costs.get(`l${index + 1}`) ?? 0),
    })),
    elsewhere: [],
    assembly: [{ code: 12, name: "tpch-3", tier: "O2", base: "0x7f00a0001000", samples: operatorSamples, instructions: lines.flatMap((each, index) => (each.task ? [{ offset: index * 11, text: "mov rax, qword ptr [rbx + 8*rcx]", line: index + 1, quality: "exact", ...cost(costs.get(`l${index + 1}`) ?? 0) }, { offset: index * 11 + 4, text: "crc32 rdx, rax", line: index + 1, quality: "exact", ...cost(0) }] : [])) }],
  };
  const points = options.points ?? 20000;
  const regions = [
    ["l_orderkey", "column", 48e6, 8], ["o_orderkey", "column", 12e6, 8], ["join directory", "directory", 8388608, 8], ["join entries", "hash table", 23e6, 32],
  ].map(([text, role, size, element_bytes], kind) => ({ key: `region:812.5512:${kind}`, kind: kind + 1, name: name(text), role, element_bytes, base: "0x7f0010000000", size, tid: 815, from_ns: 0, to_ns: null, samples: Math.round(points / 4) }));
  const memory = {
    samples: count, user_samples: count, addresses: { recorded: 0, decoded: points, in_regions: points }, rows: [], regions, operators: [`operator:${planKey}:8`, `operator:${planKey}:7`, `operator:${planKey}:4`, `operator:${planKey}:3`],
    by_region: regions.map((each, index) => ({ kind: each.kind, name: each.name, role: each.role, regions: 1, latency_cycles: 0, ...[{ pattern: "sequential" }, { pattern: "strided", stride_bytes: 64 }, { pattern: "random" }, { pattern: "unknown" }][index], ...cost(Math.round(count / 4)) })),
    points: { count: points, total: points, time_ns: [], region: [], offset: [], operator: [], pipeline: [], tid: [], weight: [], latency: [] },
  };
  for (let i = 0; i < points; i++) {
    const region = Math.floor(next() * 4);
    const [from, to] = [[0.34, 0.95], [0.06, 0.34], [0.06, 0.95], [0.06, 0.95]][region];
    const at = from + (to - from) * next();
    memory.points.time_ns.push(Math.floor(at * span));
    memory.points.region.push(region);
    memory.points.offset.push(Math.floor((region < 2 ? (at - from) / (to - from) : next()) * regions[region].size));
    memory.points.operator.push(region < 2 ? region : at > 0.34 ? 2 : next() < 0.5 ? 2 : 1);
    memory.points.pipeline.push(phases.find(([until]) => at <= until)[1]);
    memory.points.tid.push(815 + (i % 2));
    memory.points.weight.push(weight);
    memory.points.latency.push(0);
  }
  const threads = { threads: [815, 816].map((tid) => ({
    process: { pid: 812, start: 5512 }, tid, name: name("worker"), samples: Math.round(count / 2), weight: (count / 2) * weight,
    marks: phases.map(([until, pipeline], index) => ({ kind: "pipeline", id: pipeline, name: name(pipelines[pipeline - 1][1]), key: `pipeline:${planKey}:${pipeline}`, from_ns: Math.floor((phases[index - 1]?.[0] ?? 0) * span), to_ns: Math.floor(until * span) })),
    marks_total: 4, off_cpu: [{ from_ns: 0.05 * span, to_ns: 0.06 * span, wait: "lock", key: `operator:${planKey}:5` }], off_cpu_ns: 0.01 * span })) };
  const iterations = options.loops === false ? { error: { kind: "not_found", message: "there is no loop in this execution" } } : { loops: [{ execution: "3f2a".repeat(8), component: 4, name: name("loop"), found_by: "marks", spread: 0.12, iterations: Array.from({ length: 12 }, (_, i) => ({ number: i + 1, begin_ns: (i / 12) * span, elapsed_ns: (span / 12) * (0.8 + 0.2 * Math.abs(Math.sin(i))), samples: Math.round(count / 12), weight: 1 })) }], accounting: profile.accounting };
  // Days of one query, with a gap: the join gets dearer.
  const day = 86400000;
  const historyRow = (what, id, text, kind, samples) => ({ what, id, name: name(text), kind, source: "cpu-clock", unit: "ns_on_cpu", samples, weight: samples * 1e6, weight_squares: samples * 1e12 });
  const sums = (runs, join) => ({
    executions: runs, failed: 0, elapsed_ns: { min: 1e9, mean: 2e9, max: 3e9 }, events: [{ source: "cpu-clock", unit: "ns_on_cpu", samples: runs * 100, weight: runs * 1e8 }],
    rows: [historyRow("operator", 4, "Hash join", "hash_join", runs * join), historyRow("operator", 8, "Scan lineitem", "scan", runs * (90 - join)), historyRow("component", 2, "compile", "", runs * 7), historyRow("unattributed", 0, "unknown_kernel", "", runs * 2), historyRow("unattributed", 0, "unmapped", "", runs)],
    losses: { lost_ring: 0, lost_hardware: 0, late: 0, unwritten: 0 },
  });
  const days = [[0, 40, 30], [1, 50, 31], [3, 30, 55]];
  const history = (by, length) => ({ by, fingerprint: "9c1e", name: name("tpch-3"), text: "", ...sums(120, 36.9), periods: days.map(([index, runs, join]) => ({ begin_ms: 1764806400000 + index * length, end_ms: 1764806400000 + (index + 1) * length, ...sums(runs, join) })) });
  const row = (id, text, slower) => ({ id: id.repeat(8), pid: 812, process_start: 5512, comm: name("weft"), engine: "weft 0.1.0", plan: 7, plan_key: planKey, plan_name: name(text), fingerprint: "9c1e", began_ms: 1764860000123.4, running: false, elapsed_ns: span * slower, cpu_ns: count * weight, samples: count, rows: 10, error: "", labels: { user: name("ana") } });
  const side = (share) => ({ ...cost(Math.round(share * count)), id: 1, key: "" });
  const compare = {
    a: row("3f2a", "tpch-3", 1), b: row("77ab", "tpch-3", 1.3), source, same_plan: true,
    operators: operators.map(([id, text, kind, , list], index) => {
      const a = (costs.get(`o${id}`) ?? 0) / count;
      const b = index === 3 ? a + 0.09 : a * 0.9;
      return { change: "matched", name: name(`${text} ${list[0][1]}`), kind, a: side(a), b: side(b), weight_change: (b - a) * count * weight, share_change: b - a, significant: index === 3 };
    }),
    rest: [{ change: "matched", key: "components", name: "engine components", a: side(0.02), b: side(0.021), weight_change: 0, share_change: 0.001, significant: false }],
    accounting: {},
  };
  const turned = { ...compare, a: compare.b, b: compare.a, operators: compare.operators.map((each) => ({ ...each, a: each.b, b: each.a, weight_change: -each.weight_change, share_change: -each.share_change })) };
  const health = !options.live ? { status: "ok", reasons: [] } : { status: "ok", reasons: [], received: 120000, attributed: 119800, unattributed: 200, lost: 0, late: 0, lost_share: 0, own_cpu_share: 0.008, own_memory_bytes: 41000000 };
  const wave = (scale, phase) => Array.from({ length: 90 }, (_, i) => Math.max(0, scale * 1e10 * (0.5 + 0.5 * Math.sin(i / 9 + phase)) * (0.8 + 0.2 * next())));
  // Some of what it has cost: executions of the last 15 minutes, as far as they began then.
  const query = { fingerprint: "9c1e", name: name("tpch-3"), text: name("select l_orderkey, sum(l_extendedprice)\nfrom lineitem\nwhere l_shipdate > ?"), executions: 120, cpu_ns: 9.1e9, samples: 9100, elapsed_ns: { min: 1e9, mean: 2e9, max: 3e9 }, first_ms: 0, last_ms: 0, last_execution: "3f2a".repeat(8) };
  const responses = {
    status: !options.live ? { mode: "file", version: "0.1.0", now_ms: 1764860000123.4, host: name("db7"), file: name("q3.tailor"), health, processes: [], may: {} } : { mode: "live", version: "0.1.0", pid: 1, uptime_ns: 3.6e12, now_ms: 1764860000123.4, host: name("db7"), file: "", health, clock_source: "perf page", capture: "timer", processes: [{ pid: 812, start: 5512, comm: name("weft"), engine: "weft 0.1.0", sampled: true, note: "" }], may: {} },
    executions: { executions: [row("3f2a", "tpch-3", 1), row("77ab", "tpch-3", 1.3)] },
    host: { from_ms: 1764859100000, to_ms: 1764860000000, bucket_ms: 10000, by_fingerprint: [["tpch-1", 0.5, 0], ["tpch-3", 0.4, 2], ["tpch-18", 0.3, 4], ["other", 0.05, 1]].map(([text, scale, phase]) => ({ key: text === "other" ? "other" : `fingerprint:${text === "tpch-3" ? "9c1e" : text}`, name: name(text), cpu_ns: wave(scale, phase) })), by_kind: [["hash_join", 0.5, 1], ["scan", 0.3, 2], ["group_by", 0.3, 0], ["sort", 0.1, 4], ["component", 0.05, 1], ["unattributed", 0.01, 1]].map(([text, scale, phase]) => ({ key: text === "component" || text === "unattributed" ? text : `kind:${text}`, name: text, cpu_ns: wave(scale, phase) })), running: [{ ...row("99ff", "tpch-18", 1), running: true, elapsed_ns: undefined }], health },
    fingerprints: { fingerprints: [query], total_cpu_ns: 1e10 },
    "fingerprints?since=-900s": { fingerprints: [{ ...query, executions: 7, cpu_ns: 4e8, samples: 400 }], total_cpu_ns: 2e10 },
    [`compare?a=${"3f2a".repeat(8)}&b=${"77ab".repeat(8)}`]: compare,
    [`compare?a=${"77ab".repeat(8)}&b=${"3f2a".repeat(8)}`]: turned,
    "history?by=day&fingerprint=9c1e&limit=1000": history("day", day),
    "history?by=hour&fingerprint=9c1e&limit=1000": history("hour", day / 24),
    "plan-changes?fingerprint=9c1e&limit=100": { plan_changes: [], more: false, executions: 120, without_plan: 0, cut: false },
  };
  responses["fingerprints/9c1e"] = { ...responses.fingerprints.fingerprints[0], executions_list: [row("3f2a", "tpch-3", 1), row("77ab", "tpch-3", 1.3)], operators: plan.operators, operators_of: "77ab".repeat(8), first_sampled: "3f2a".repeat(8), last_sampled: "77ab".repeat(8), runs: { executions: 120, sampled: 70, left_out: 0, samples: 9100, plans: 1, source, operators: plan.operators } };
  const samples = { sources: [source], total: count, count, cells, ...columns };
  const owners = [...plan.operators.map((each) => ({ key: each.key, name: each.name })), { key: "component:812.5512:2", name: name("compile") }, { key: "unattributed:unknown_kernel", name: "kernel" }];
  const functions = functionsAnswer(stacksOf(samples, name), { source, owners });
  for (const id of options.ids ?? ["all", "3f2a".repeat(8), "77ab".repeat(8)]) {
    Object.assign(responses, {
      [`executions/${id}`]: row("3f2a", "tpch-3", 1), [`executions/${id}/profile`]: profile, [`executions/${id}/samples`]: samples, [`executions/${id}/functions`]: functions,
      [`executions/${id}/sources`]: { sources: [source] }, [`executions/${id}/listing`]: listing, [`executions/${id}/memory`]: memory, [`executions/${id}/threads`]: threads, [`executions/${id}/iterations`]: iterations,
    });
  }
  return { format: "tailor-bundle", version: 1, generator: "tailor 0.1.0", id: "all", responses };
}

// The samples as a server answers them if they are many.
export const sliced = (samples, slice) => {
  const rows = new Map();
  samples.time_ns.forEach((time, i) => {
    const begin = Math.floor(time / slice) * slice;
    const key = `${begin}:${samples.cell[i]}`;
    if (!rows.has(key)) rows.set(key, { time: begin, cell: samples.cell[i], samples: 0, weight: 0, squares: 0 });
    const row = rows.get(key);
    row.samples += 1;
    row.weight += samples.weight[i];
    row.squares += samples.weight[i] ** 2;
  });
  const all = [...rows.values()].sort((a, b) => a.time - b.time);
  const column = (name) => all.map((row) => row[name]);
  return { ...samples, count: all.length, slice_ns: slice, tid: [], time_ns: column("time"), cell: column("cell"), samples: column("samples"), weight: column("weight"), squares: column("squares") };
};
