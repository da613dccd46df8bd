// The elapsed time of executions, each moment divided among what worked then (docs/cli.md, "Elapsed time").
import type { Cost, DividedTime, OperatorRow, Profile } from "../data/types.ts";
import { name as clean } from "./format.ts";
import { detailOf, planKeyOf } from "./owners.ts";
import type { Shared } from "./totals.ts";

// A part of the elapsed time; its weight is in ns of it. `threads`: how many worked on average while one worked for it. Null:
// that is not known, as where none worked. `skew`: the busiest thread against the mean of its threads, and what that is at least.
export interface ElapsedPart extends Shared {
  threads: number | null;
  skew: { value: number; low: number } | null;
}

export interface ElapsedRow {
  key: string;
  name: string;
  detail: string;
  depth: number;
  kind: "operator" | "pipeline" | "plan" | "component" | "unattributed" | "idle";
  id: number | null; // of an operator of the plan that is shown
  part: ElapsedPart;
}

export interface Divided {
  time: DividedTime;
  rows: ElapsedRow[]; // all of the elapsed time: the operators first, and at the end when no thread worked
  pipelines: ElapsedRow[]; // of the plan that is shown, and have the operators' part of the elapsed time once more
  hasPlan: boolean; // whether it is known of the plan
  costOf(row: OperatorRow): ElapsedPart;
}

function partOf(cost: Cost & { threads?: number; skew?: number; skew_low?: number }): ElapsedPart {
  return {
    weight: cost.weight,
    samples: cost.samples,
    kernel: cost.kernel_weight,
    inferred: cost.inferred_weight,
    shared: cost.shared_weight,
    share: cost.share,
    low: cost.share_low,
    high: cost.share_high,
    threads: cost.threads ?? null,
    skew: cost.skew === undefined ? null : { value: cost.skew, low: cost.skew_low ?? 0 },
  };
}

const nothing = { weight: 0, samples: 0, kernel: 0, inferred: 0, shared: 0, share: 0, low: 0, high: 0, threads: null, skew: null };

// How long no thread worked has no interval: chance in the samples says nothing of it.
function idleRow(time: DividedTime): ElapsedRow {
  const part = { ...nothing, weight: time.idle_ns, share: time.idle_share, low: time.idle_share, high: time.idle_share };
  return { key: "idle", name: "no thread worked", detail: "", depth: 0, kind: "idle", id: null, part };
}

// Of an answer with `of=elapsed`. Null: it is none. `planKey`: of the plan that is shown.
export function divided(profile: Profile, planKey: string): Divided | null {
  const time = profile.elapsed;
  if (!time) return null;
  const plan = profile.plans.find((each) => planKeyOf(each) === planKey);
  const operators = new Map(plan?.operators.map((row) => [row.id, partOf(row)]));
  const beside = { detail: "", depth: 0, id: null };
  const rows: ElapsedRow[] = [
    ...(plan?.operators ?? []).map((row) => ({ key: `operator:${row.id}`, name: row.name, detail: detailOf(row), depth: row.depth, kind: "operator" as const, id: row.id, part: partOf(row) })),
    ...profile.plans.filter((each) => each !== plan).map((each) => ({ ...beside, key: `plan:${planKeyOf(each)}`, name: `${each.name} (another plan)`, kind: "plan" as const, part: partOf(each) })),
    ...profile.component_rows.map((row) => ({ ...beside, key: row.owner, name: row.name, kind: "component" as const, part: partOf(row) })),
    ...profile.unattributed_rows.map((row) => ({ ...beside, key: row.owner, name: row.name, kind: "unattributed" as const, part: partOf(row) })),
    idleRow(time),
  ];
  const pipelines = (plan?.pipelines ?? []).map((row) => ({ ...beside, key: `pipeline:${row.id}`, name: row.id === 0 ? "no pipeline known" : `pipeline ${row.id}`, detail: clean(row.name, 80), kind: "pipeline" as const, part: partOf(row) }));
  return { time, rows, pipelines: pipelines.filter(({ part }) => part.weight > 0), hasPlan: plan !== undefined, costOf: (row) => operators.get(row.id) ?? nothing };
}
