// Time off the CPU within a part of the time, by who waited and for what. A wait that reaches beyond the part counts with what
// lies in it.
import type { OffCpuRow, ThreadRow } from "../data/types.ts";
import { isOwnKey, ownAgent } from "./owners.ts";
import { overlap, type Range } from "./sight.ts";

// The most marks, and the most of its longest waits, that an answer has of a thread.
export const mostMarks = 2000;

type Row = OffCpuRow & { key?: string };

export interface Waits {
  ns: number;
  waits: number;
  rows: Row[];
  isCut: boolean; // shorter ones were left out
}

export const offCpuWithin = (row: ThreadRow, part: Range) => row.off_cpu.reduce((sum, off) => sum + overlap(off.from_ns, off.to_ns, part), 0);

const add = (sums: Record<string, number>, key: string, ns: number) => void (sums[key] = (sums[key] ?? 0) + ns);

export function waitsWithin(threads: ThreadRow[], part: Range, nameOf: (key: string) => string): Waits {
  const rows = new Map<string, Row>();
  const out: Waits = { ns: 0, waits: 0, rows: [], isCut: threads.some((row) => row.off_cpu.length >= mostMarks) };
  for (const off of threads.flatMap((row) => row.off_cpu)) {
    const ns = overlap(off.from_ns, off.to_ns, part);
    if (ns === 0) continue;
    let row = rows.get(off.key);
    if (!row) rows.set(off.key, (row = { key: off.key, plan: 0, operator: 0, name: nameOf(off.key), waits: 0, ns: 0, by_wait: {}, by_event: {} }));
    row.waits += 1;
    row.ns += ns;
    add(row.by_wait, off.wait, ns);
    if (off.event) add(row.by_event!, off.event, ns);
    out.ns += ns;
    out.waits += 1;
  }
  out.rows = [...rows.values()].sort((a, b) => b.ns - a.ns);
  return out;
}

// Whether Tailor's own agent waited.
const isOwn = (row: Row) => (row.key === undefined ? row.operator === 0 && row.name === ownAgent.name : isOwnKey(row.key));

// The engine's waits, and those of Tailor's own thread in it.
export function withoutOwn(waits: Omit<Waits, "isCut"> & { isCut?: boolean }): Waits & { own: { ns: number; waits: number } } {
  const sums = (rows: Row[]) => ({ ns: rows.reduce((sum, row) => sum + row.ns, 0), waits: rows.reduce((sum, row) => sum + row.waits, 0) });
  const rows = waits.rows.filter((row) => !isOwn(row));
  return { rows, ...sums(rows), isCut: waits.isCut ?? false, own: sums(waits.rows.filter(isOwn)) };
}
