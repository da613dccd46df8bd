// One query over hours or days: what each of its operators cost, and how two of these periods differ.
import type { History, HistoryRow, HistorySums } from "../data/types.ts";
import { wilson } from "./wilson.ts";

export interface Line {
  key: string;
  what: HistoryRow["what"];
  name: string;
  weight: number;
  squares: number | null; // of the samples' weights; null: not known
  samples: number;
}

type Sum = Pick<Line, "weight" | "squares" | "samples">;

export interface ShareOf {
  share: number;
  low: number;
  high: number;
  known: boolean; // the interval; else it is all that a share can be
  samples: number;
  weight: number;
}

const keyOf = (row: HistoryRow) => `${row.what}:${row.id}:${row.kind}:${row.name}`;

const nothing: Sum = { weight: 0, squares: 0, samples: 0 };
const added = (a: number | null, b: number | null | undefined) => (a === null || b === null || b === undefined ? null : a + b);

// The event that a reader wants first: time on the CPU.
export function eventOf(history: History): string {
  const units = ["ns_on_cpu", "ns_off_cpu", "events"];
  const rows = [...history.rows].sort((a, b) => units.indexOf(a.unit) - units.indexOf(b.unit) || b.weight - a.weight);
  return rows[0]?.source ?? "";
}

// Whether all executions were sampled. Samples of one execution are alike: of a share of the executions, intervals follow from how
// these differ, and sums do not say that.
export const allDrawn = (sums: HistorySums) => (sums.drawn ?? sums.executions) >= sums.executions;

// Costs of one event, the dearest first; the unattributed always last and always one line.
export function linesOf(sums: HistorySums, event: string): Line[] {
  const all = allDrawn(sums);
  const lines: Line[] = [];
  const nobody: Line = { key: "unattributed", what: "unattributed", name: "unattributed", ...nothing };
  for (const row of sums.rows) {
    if (row.source !== event) continue;
    const line = row.what === "unattributed" ? nobody : { key: keyOf(row), what: row.what, name: row.name, ...nothing };
    line.weight += row.weight;
    line.squares = all ? added(line.squares, row.weight_squares) : null;
    line.samples += row.samples;
    if (row.what !== "unattributed") lines.push(line);
  }
  return [...lines.sort((a, b) => b.weight - a.weight), nobody];
}

export const sumOf = (lines: Line[]) => lines.reduce<Sum>((sum, line) => ({ weight: sum.weight + line.weight, squares: added(sum.squares, line.squares), samples: sum.samples + line.samples }), nothing);

// How many samples of one weight would say as much: fewer than there are, if their weights differ. 0: not known.
const effective = ({ weight, squares }: Sum) => (squares !== null && squares > 0 ? (weight * weight) / squares : 0);

export function shareIn(line: Sum | undefined, whole: Sum): ShareOf {
  const { weight, samples } = line ?? nothing;
  const share = whole.weight > 0 ? weight / whole.weight : 0;
  const n = effective(whole);
  const [low, high] = wilson(Math.min(1, share), n);
  return { share, low, high, known: n > 0, samples, weight };
}

export interface Difference {
  name: string;
  a: ShareOf;
  b: ShareOf;
  significant: boolean | null; // the 95 % intervals do not overlap; null: one of them is not known
}

export function differences(a: HistorySums, b: HistorySums, event: string): Difference[] {
  const [left, right] = [linesOf(a, event), linesOf(b, event)];
  const [wholeA, wholeB] = [sumOf(left), sumOf(right)];
  const names = new Map([...left, ...right].map((line) => [line.key, line.name]));
  return [...names].map(([key, name]) => {
    const of = (lines: Line[], whole: typeof wholeA) => shareIn(lines.find((line) => line.key === key), whole);
    const [inA, inB] = [of(left, wholeA), of(right, wholeB)];
    return { name, a: inA, b: inB, significant: inA.known && inB.known ? inA.low > inB.high || inB.low > inA.high : null };
  });
}
