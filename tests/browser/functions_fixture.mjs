// Functions as docs/http-api.md has them, made of stacks that a test knows.
const kindOf = (object) => (object === "[kernel]" ? "kernel" : object === "[jit]" ? "generated" : object === "" ? "unknown" : "user");

// A frame is "name|library"; without a name nothing names it.
function functionsOf(rows) {
  const known = new Map();
  for (const { stack, weight, owner } of rows) {
    new Set(stack).forEach((frame) => {
      const it = known.get(frame) ?? { frame, self: [0, 0], total: [0, 0], owners: new Map() };
      known.set(frame, it);
      const own = it.owners.get(owner) ?? [0, 0, 0, 0];
      it.owners.set(owner, own);
      const add = (into, at) => { into[at] += 1; into[at + 1] += weight; };
      add(it.total, 0);
      add(own, 2);
      if (frame !== stack.at(-1)) return;
      add(it.self, 0);
      add(own, 0);
    });
  }
  return [...known.values()].sort((a, b) => b.self[1] - a.self[1]);
}

function treeOf(rows, number, fewest) {
  const root = { at: -1, children: new Map(), total: [0, 0], self: [0, 0] };
  const add = (sum, weight) => { sum[0] += 1; sum[1] += weight; };
  for (const { stack, weight } of rows) {
    let node = root;
    add(node.total, weight);
    for (const frame of stack) {
      if (!node.children.has(frame)) node.children.set(frame, { at: number.get(frame), children: new Map(), total: [0, 0], self: [0, 0] });
      node = node.children.get(frame);
      add(node.total, weight);
    }
    add(node.self, weight);
  }
  const out = { function: [], parent: [], samples: [], weight: [], self_samples: [], self_weight: [], merged: [] };
  const put = (at, parent, total, self, merged) => {
    for (const [column, value] of [["function", at], ["parent", parent], ["samples", total[0]], ["weight", total[1]], ["self_samples", self[0]], ["self_weight", self[1]], ["merged", merged]]) out[column].push(value);
    return out.function.length - 1;
  };
  const walk = (node, parent) => {
    const own = put(node.at, parent, node.total, node.self, 0);
    const rest = [0, 0];
    let merged = 0;
    for (const child of node.children.values()) {
      if (child.total[0] >= fewest) walk(child, own);
      else {
        rest[0] += child.total[0];
        rest[1] += child.total[1];
        merged++;
      }
    }
    if (merged) put(-2, own, rest, rest, merged);
  };
  walk(root, 0);
  return out;
}

// rows: { stack (outermost first), weight, owner: its key }. Nodes with fewer samples than `fewest` are added up.
export function functionsAnswer(rows, { source, owners = [], fewest = 1 }) {
  const functions = functionsOf(rows);
  const number = new Map(functions.map((each, index) => [each.frame, index]));
  const [names, libraries] = [functions.map((each) => each.frame.split("|")[0]), functions.map((each) => each.frame.split("|")[1] ?? "")];
  const objects = [...new Set(libraries)];
  const weight = rows.reduce((sum, row) => sum + row.weight, 0);
  const squares = rows.reduce((sum, row) => sum + row.weight ** 2, 0);
  const chains = rows.filter((row) => row.stack.length > 1);
  const byLibrary = objects.map((object) => [object, functions.filter((_, i) => libraries[i] === object)]);
  const sum = (list, at) => list.reduce((all, each) => all + each.self[at], 0);
  const ownerNumber = new Map(owners.map((each, index) => [each.key, index]));
  return {
    view: { id: "all", source, samples: rows.length, weight }, effective_samples: squares ? weight ** 2 / squares : 0,
    with_chain: { samples: chains.length, weight: chains.reduce((all, row) => all + row.weight, 0) }, left_out: { samples: 0, weight: 0 },
    objects, owners,
    functions: {
      name: names.map((name) => name || "[unknown]"), named: names.map((name) => name !== ""), object: libraries.map((each) => objects.indexOf(each)), kind: libraries.map(kindOf),
      address: names.map(() => ""), why: names.map((name) => (name ? "" : "the file has no names")),
      self_samples: functions.map((each) => each.self[0]), self_weight: functions.map((each) => each.self[1]),
      total_samples: functions.map((each) => each.total[0]), total_weight: functions.map((each) => each.total[1]),
      owners: functions.map((each) => (owners.length < 2 ? [] : [...each.owners].map(([owner, own]) => [ownerNumber.get(owner), ...own]).sort((a, b) => b[4] - a[4]))),
    },
    more_functions: { count: 0, samples: 0, weight: 0 },
    libraries: { object: byLibrary.map(([object]) => objects.indexOf(object)), samples: byLibrary.map(([, list]) => sum(list, 0)), weight: byLibrary.map(([, list]) => sum(list, 1)) },
    more_libraries: { count: 0, samples: 0, weight: 0 },
    callees: treeOf(rows, number, fewest),
    callers: treeOf(rows.map((row) => ({ ...row, stack: [...row.stack].reverse() })), number, fewest),
    accounting: {}, file: {},
  };
}

// The stacks of the samples of makeBundle(): which function a sample was in follows from its cell, and from where it stands.
export function stacksOf(samples, name = (text) => text) {
  return samples.cell.map((number, index) => {
    const cell = samples.cells[number];
    const stack = [`${name("main")}|weft`];
    if (cell.owner === "component") stack.push(`${name("compile")}|weft`, `|${name("libLLVM.so.19.1")}`);
    else if (cell.owner === "unattributed") stack.push("do_fault|[kernel]");
    else {
      stack.push(`${name("run")}|weft`, `pipeline_${cell.pipeline}|[jit]`);
      if (index % 5 === 0) stack.push(`${name("memcpy")}|libc.so.6`);
    }
    const owner = cell.owner === "plan" ? `operator:${cell.plan_key}:${cell.levels.operator[0][0]}` : cell.key;
    return { stack, weight: samples.weight[index], owner, time: samples.time_ns[index], tid: samples.tid[index] };
  });
}

// A profile of a program that nobody instrumented: no plan, no engine, one owner.
export function planless(bundle, rows, options = {}) {
  const responses = structuredClone(bundle.responses);
  const root = "executions/all";
  const profile = responses[`${root}/profile`];
  const weight = rows.reduce((sum, row) => sum + row.weight, 0);
  const all = { share: 1, share_low: 0.99, share_high: 1, samples: rows.length, weight, kernel_weight: 0, inferred_weight: 0, shared_weight: 0 };
  const none = { ...all, share: 0, share_low: 0, samples: 0, weight: 0 };
  Object.assign(profile, { plans: [], component_rows: [], operators: none, engine_components: none, unattributed: all, samples: rows.length, weight, effective_samples: rows.length, unattributed_rows: [{ key: "not_registered", owner: "unattributed:not_registered", name: "code of a process without an agent", ...all }] });
  const cell = { source: 0, plan_key: "", pipeline: 0, how: "unattributed", kernel: false, quality: "exact", owner: "unattributed", levels: {}, key: "unattributed:not_registered", wait: "", event: "" };
  const kernel = { ...cell, kernel: true };
  responses[`${root}/samples`] = { sources: [profile.source], total: rows.length, count: rows.length, cells: [cell, kernel], time_ns: rows.map((row) => row.time), tid: rows.map((row) => row.tid), weight: rows.map((row) => row.weight), cell: rows.map((row) => (row.stack.at(-1).endsWith("[kernel]") ? 1 : 0)) };
  responses[`${root}/functions`] = functionsAnswer(rows, { source: profile.source, ...options });
  for (const view of ["listing", "iterations", "memory"]) responses[`${root}/${view}`] = { error: { kind: "not_found", message: `there is nothing to show as ${view}` } };
  responses.executions = { executions: [] };
  responses.status.file = "program.tailor";
  delete responses[root];
  return { ...bundle, responses };
}
