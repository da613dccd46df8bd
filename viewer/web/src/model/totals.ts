// Costs of a part of the samples by owner, pipeline, task and line, each with its interval.
import type { CellSums, SampleTable } from "./samples.ts";
import { wilson } from "./wilson.ts";

export interface Sum {
  weight: number;
  samples: number;
  kernel: number;
  inferred: number;
  shared: number;
}

export interface Shared extends Sum {
  share: number;
  low: number;
  high: number;
}

export interface Totals {
  weight: number;
  samples: number;
  effective: number;
  owners: Map<number, Sum>;
  pipelines: Map<string, Sum>; // by "<plan>:<id>"
  lines: Map<string, Sum>; // by "<plan>:<line>"
  inferred: number;
  kernel: number;
  shared: number;
}

const nothing = (): Sum => ({ weight: 0, samples: 0, kernel: 0, inferred: 0, shared: 0 });

function put<Key>(sums: Map<Key, Sum>, key: Key, weight: number, samples: number, cell: { kernel: boolean; inferred: boolean }, shared: boolean) {
  let sum = sums.get(key);
  if (!sum) sums.set(key, (sum = nothing()));
  sum.weight += weight;
  sum.samples += samples;
  if (cell.kernel) sum.kernel += weight;
  if (cell.inferred) sum.inferred += weight;
  if (shared) sum.shared += weight;
}

// `owner`: only what this one owns goes into the lines.
export function totals(table: SampleTable, sums: CellSums, owner: number | null = null): Totals {
  const out: Totals = {
    weight: sums.total,
    samples: sums.count,
    effective: sums.effective * table.worth,
    owners: new Map(),
    pipelines: new Map(),
    lines: new Map(),
    inferred: 0,
    kernel: 0,
    shared: 0,
  };
  table.cells.forEach((cell, index) => {
    const weight = sums.weight[index]!;
    const samples = sums.samples[index]!;
    if (samples === 0) return;
    if (cell.kernel) out.kernel += weight;
    if (cell.inferred) out.inferred += weight;
    if (cell.shared) out.shared += weight;
    for (const [id, part] of cell.owners) put(out.owners, id, weight * part, samples * part, cell, cell.shared);
    if (cell.plan === "") return;
    put(out.pipelines, `${cell.plan}:${cell.pipeline}`, weight, samples, cell, cell.shared);
    if (owner !== null && !cell.owners.some(([id]) => id === owner)) return;
    for (const [line, part] of cell.lines) {
      if (line !== 0) put(out.lines, `${cell.plan}:${line}`, weight * part, samples * part, cell, cell.lines.length > 1);
    }
  });
  return out;
}

export function shareOf(sum: Sum | undefined, whole: { weight: number; effective: number }): Shared {
  const of = sum ?? nothing();
  const share = whole.weight > 0 ? of.weight / whole.weight : 0;
  const [low, high] = wilson(Math.min(1, share), whole.effective);
  return { ...of, share, low, high };
}
