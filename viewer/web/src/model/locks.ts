// Who held the locks that executions waited for: of one execution as a tree with times, and of all that wait now.
import type { Execution } from "../data/types.ts";

// What comes from outside may be a circle, and as deep and as wide as it likes.
const deepest = 8;
const mostRows = 50;
// Looks come some times a second, and reach the store a moment later.
const nowNs = 5e9;

// Somebody who held a lock, as the execution that the tree is of saw it, or one above that.
export interface HolderRow {
  depth: number; // 1: the execution itself waited
  pid: number;
  execution: string | null; // for which the process worked; null: for none that is known
  row: Execution | null; // of that execution; null: not known
  from: number; // ns since the begin of the execution that the tree is of
  to: number;
}

export interface HolderTree {
  rows: HolderRow[];
  leftOut: number;
}

// `known`: executions by their ids. Below each holder stand those that it waited for meanwhile.
export function holdersOf(execution: Execution, known: ReadonlyMap<string, Execution | null>): HolderTree {
  const out: HolderTree = { rows: [], leftOut: 0 };
  const way = [execution.id];
  const add = (waits: Execution, begin: number, from: number, to: number) => {
    out.leftOut += waits.blockers_left_out ?? 0;
    for (const each of waits.blockers ?? []) {
      const [since, until] = [begin + each.from_ns, begin + each.to_ns];
      if (since > to || until < from) continue;
      if (out.rows.length >= mostRows) {
        out.leftOut++;
        continue;
      }
      const row = (each.execution !== null && known.get(each.execution)) || null;
      out.rows.push({ depth: way.length, pid: each.pid, execution: each.execution, row, from: since, to: until });
      if (!row?.blockers || way.includes(row.id) || way.length >= deepest) continue;
      const later = beginAfter(row, execution);
      if (Number.isNaN(later)) continue;
      way.push(row.id);
      add(row, later, since, until);
      way.pop();
    }
  };
  add(execution, 0, -Infinity, Infinity);
  return out;
}

// By how much one began after another, by the host's clock. NaN: not known.
const beginAfter = (one: Execution, other: Execution) => ((one.began_ms ?? Number.NaN) - (other.began_ms ?? Number.NaN)) * 1e6;

// Of which executions more is to be known until the tree is whole.
export function holdersWanted(execution: Execution, known: ReadonlyMap<string, Execution | null>): string[] {
  const ids = holdersOf(execution, known).rows.flatMap(({ execution: id }) => (id === null || id === execution.id || known.has(id) ? [] : [id]));
  return [...new Set(ids)];
}

// A line of the tree of those that wait now: who holds a lock, or who waits.
export interface HeldUpRow {
  depth: number; // 0: it holds a lock, and was not seen to wait
  pid: number;
  execution: string | null;
  row: Execution | null;
  waits: number | null; // ns so far; null: of the one at the top
}

interface Wait {
  row: Execution;
  waits: number;
}

interface Holder {
  pid: number;
  execution: string | null;
  waits: Wait[]; // for it, the longest first
}

const keyOf = (pid: number, start: number, execution: string | null) => `${pid}:${start}:${execution ?? ""}`;
const ownKey = (row: Execution) => keyOf(row.pid, row.process_start, row.id);

// Of the executions that run, those that wait for a lock at `nowMs`, as far as was seen: below each holder those that wait for
// it, and below these those that wait for them. The longest wait comes first.
export function heldUp(running: Execution[], nowMs: number): { rows: HeldUpRow[]; leftOut: number } {
  const rows: HeldUpRow[] = [];
  let leftOut = 0;
  const holders = holdersNow(running, nowMs);
  const known = new Map(running.map((row) => [row.id, row]));
  const waiting = new Set([...holders.values()].flatMap((holder) => holder.waits.map(({ row }) => ownKey(row))));
  const shown = new Set<string>();
  const put = (row: HeldUpRow) => {
    if (rows.length < mostRows) rows.push({ ...row, depth: Math.min(row.depth, deepest) });
    else leftOut++;
  };
  // Each holder is shown once with those that wait for it, so the lines are no more than the waits and their holders.
  const putWaits = (key: string, depth: number) => {
    const holder = holders.get(key);
    if (!holder || shown.has(key)) return;
    shown.add(key);
    for (const { row, waits } of holder.waits) {
      put({ depth, pid: row.pid, execution: row.id, row, waits });
      putWaits(ownKey(row), depth + 1);
    }
  };
  const putHolder = (key: string, { pid, execution }: Holder) => {
    put({ depth: 0, pid, execution, row: (execution !== null && known.get(execution)) || null, waits: null });
    putWaits(key, 1);
  };
  const sorted = [...holders].sort(([, a], [, b]) => b.waits[0]!.waits - a.waits[0]!.waits);
  for (const [key, holder] of sorted) if (!waiting.has(key)) putHolder(key, holder);
  // Of a circle each holder waits itself.
  for (const [key, holder] of sorted) if (!shown.has(key)) putHolder(key, holder);
  return { rows, leftOut };
}

// Who is waited for, with at least one wait each.
function holdersNow(running: Execution[], nowMs: number): Map<string, Holder> {
  const out = new Map<string, Holder>();
  for (const row of running) {
    if (!row.running || row.began_ms === undefined) continue;
    const runs = Math.max(0, (nowMs - row.began_ms) * 1e6);
    for (const each of row.blockers ?? []) {
      if (runs - each.to_ns > nowNs) continue;
      const key = keyOf(each.pid, each.process_start, each.execution);
      const holder = out.get(key) ?? { pid: each.pid, execution: each.execution, waits: [] };
      holder.waits.push({ row, waits: Math.max(0, each.to_ns - each.from_ns) });
      out.set(key, holder);
    }
  }
  for (const holder of out.values()) holder.waits.sort((a, b) => b.waits - a.waits);
  return out;
}
