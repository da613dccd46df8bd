// What an execution counts as. An engine may add up short runs of a query in one execution: each run counts.
import type { Execution, Fingerprint, ViewOf } from "../data/types.ts";
import { count, duration, name as clean } from "./format.ts";

// Where a share of the executions is sampled, nobody knows what the others cost.
export const cpuText = (row: Execution): string => (row.drawn === false ? "not sampled" : duration(row.cpu_ns));
export const isOfShare = (sum: { executions: number; drawn?: number }): boolean => sum.drawn !== undefined && sum.drawn < sum.executions;

// Of a query's CPU time: of how many executions it is, and what all of them cost by that; "" where it is of all.
export function shareText(query: Fingerprint): string {
  if (!isOfShare(query)) return "";
  const all = query.cpu_ns_of_all;
  return ` in the ${count(query.drawn!)} that are sampled${all ? `, ${duration(all.value)} in all (${duration(all.low)} to ${duration(all.high)})` : ""}`;
}

export const runsOf = (row: Execution): number => row.added_runs?.runs ?? 1;

// How long it took; where runs are added up, a run on average. NaN: not known.
export function took(row: Execution): number {
  if (row.runs_unknown) return Number.NaN;
  if (!row.added_runs) return row.elapsed_ns ?? Number.NaN;
  return row.added_runs.runs > 0 ? row.added_runs.elapsed_ns.mean : Number.NaN;
}

export function tookText(row: Execution): string {
  if (row.runs_unknown) return "not known: runs were added up";
  if (!row.added_runs) return duration(took(row));
  return `${count(row.added_runs.runs)} runs, ${duration(took(row))} each`;
}

// What went wrong, "" for nothing. Of runs that are added up it is known only how many failed.
export function failureOf(row: Execution): string {
  const failed = row.added_runs?.failed ?? 0;
  if (row.error !== "" || failed === 0) return row.error;
  return `${count(failed)} of ${count(runsOf(row))} runs`;
}

// How long executions of a query took on average. NaN: of none it is known, because they run, or their engine added up runs.
export function meanElapsed(sum: { executions: number; running?: number; elapsed_ns: { mean: number; unknown?: number } }): number {
  const unknown = (sum.elapsed_ns.unknown ?? 0) + (sum.running ?? 0);
  return unknown >= sum.executions && sum.executions > 0 ? Number.NaN : sum.elapsed_ns.mean;
}

// The other rate that its process was sampled at while it ran, as `tailor list` marks it: what raised it, without what exactly
// held. "": it was sampled as configured.
export function rateText(row: Execution): string {
  if (!row.rate) return "";
  return `${row.rate.hz.toLocaleString("en")} Hz (${clean(row.rate.why.split(": ")[0], 60)})`;
}

// Of a view of several executions: which ones it is of, and what was left out. "": it says nothing of that.
export function viewedText({ runs, notes }: ViewOf): string {
  const older = runs && runs.left_out > 0 ? `; ${count(runs.left_out)} others, the older ones, are left out` : "";
  const which = runs ? [`${count(runs.executions)} runs; ${count(runs.sampled)} executions have samples${older}`] : [];
  return [...which, ...notesOf(notes)].join(". ");
}

// Sentences of the server.
export const notesOf = (notes: string[] | undefined): string[] => (notes ?? []).map((note) => clean(note, 300));
