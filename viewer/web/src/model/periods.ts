// One query over hours or days: what each of its operators cost, and how two of these periods differ.
import type { History, HistoryRow, HistorySums } from "../data/types.ts";
import { wilson } from "./wilson.ts";

export interface Line {
  key: string;
  what: HistoryRow["what"];
  name: string;
  weight: number;
  samples: number;
}

export interface ShareOf {
  share: number;
  low: number;
  high: number;
  samples: number;
  weight: number;
}

const keyOf = (row: HistoryRow) => `${row.what}:${row.id}:${row.kind}:${row.name}`;

// The event that a reader wants first: time on the CPU.
export function eventOf(history: History): string {
  const units = ["ns_on_cpu", "ns_off_cpu", "events"];
  const rows = [...history.rows].sort((a, b) => units.indexOf(a.unit) - units.indexOf(b.unit) || b.weight - a.weight);
  return rows[0]?.source ?? "";
}

// Costs of one event, the dearest first; the unattributed always last and always one line.
export function linesOf(sums: HistorySums, event: string): Line[] {
  const lines: Line[] = [];
  const nobody: Line = { key: "unattributed", what: "unattributed", name: "unattributed", weight: 0, samples: 0 };
  for (const row of sums.rows) {
    if (row.source !== event) continue;
    const line = row.what === "unattributed" ? nobody : { key: keyOf(row), what: row.what, name: row.name, weight: 0, samples: 0 };
    line.weight += row.weight;
    line.samples += row.samples;
    if (row.what !== "unattributed") lines.push(line);
  }
  return [...lines.sort((a, b) => b.weight - a.weight), nobody];
}

export const sumOf = (lines: Line[]) => lines.reduce((sum, line) => ({ weight: sum.weight + line.weight, samples: sum.samples + line.samples }), { weight: 0, samples: 0 });

// Its interval follows from the number of samples, as if all weighed the same: sums over hours keep no more.
export function shareIn(line: { weight: number; samples: number } | undefined, whole: { weight: number; samples: number }): ShareOf {
  const { weight, samples } = line ?? { weight: 0, samples: 0 };
  const share = whole.weight > 0 ? weight / whole.weight : 0;
  const [low, high] = wilson(Math.min(1, share), whole.samples);
  return { share, low, high, samples, weight };
}

export interface Difference {
  name: string;
  a: ShareOf;
  b: ShareOf;
  significant: boolean; // the 95 % intervals do not overlap
}

export function differences(a: HistorySums, b: HistorySums, event: string): Difference[] {
  const [left, right] = [linesOf(a, event), linesOf(b, event)];
  const [wholeA, wholeB] = [sumOf(left), sumOf(right)];
  const names = new Map([...left, ...right].map((line) => [line.key, line.name]));
  return [...names].map(([key, name]) => {
    const of = (lines: Line[], whole: typeof wholeA) => shareIn(lines.find((line) => line.key === key), whole);
    const [inA, inB] = [of(left, wholeA), of(right, wholeB)];
    return { name, a: inA, b: inB, significant: inA.low > inB.high || inB.low > inA.high };
  });
}
