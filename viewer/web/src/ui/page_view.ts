// What the execution page shows at this moment: the profile, the part of it that the address chooses, and its sums.
import type { OperatorRow, PlanRow, Profile, Samples } from "../data/types.ts";
import { Owners, operatorKey, planKeyOf, planOfPipeline } from "../model/owners.ts";
import { isWhole, type Range, sightOf } from "../model/sight.ts";
import { type RowFilter, SampleTable } from "../model/samples.ts";
import { shareOf, type Shared, type Totals, totals } from "../model/totals.ts";
import { Workers } from "../model/workers.ts";

export interface Chosen {
  plan: string;
  operator: number | null;
  from: number | null;
  to: number | null;
  left: number | null; // the edges of what charts show
  right: number | null;
  tid: number | null;
  pipeline: string | null;
  iteration: number | null;
}

const number = (text: string | undefined): number | null => {
  if (text === undefined) return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
};

export function readChosen(state: Record<string, string>): Chosen {
  return {
    plan: state["plan"] ?? "",
    operator: number(state["op"]),
    from: number(state["from"]),
    to: number(state["to"]),
    left: number(state["left"]),
    right: number(state["right"]),
    tid: number(state["tid"]),
    pipeline: state["pipe"] ?? null,
    iteration: number(state["iter"]),
  };
}

// The samples of [from, to), one by one, where the page has sums over slices of the whole.
export interface PartSamples {
  from: number;
  to: number;
  table: SampleTable;
}

// The time of the samples and the part of it that charts show.
export function timesOf(base: Base, chosen: Chosen): { all: Range; sight: Range } | null {
  if (!base.table) return null;
  const all = { from: base.table.from, to: base.table.to };
  return { all, sight: sightOf(chosen.left, chosen.right, all) };
}

// Nobody told a plan or the parts of an engine: functions alone say where the time went.
export const isPlanless = (profile: Profile) => profile.plans.length === 0 && profile.component_rows.length === 0;

// The profile with its samples; made once for each answer.
export class Base {
  readonly owners: Owners;
  readonly table: SampleTable | null;
  readonly workers: Workers | null; // null: the samples do not say which threads worked
  readonly whole: Totals;

  readonly profile: Profile;

  constructor(profile: Profile, samples: Samples | null) {
    this.profile = profile;
    this.owners = new Owners(profile);
    this.table = samples ? new SampleTable(profile, samples, this.owners) : null;
    this.workers = samples && this.table ? Workers.of(profile, samples, this.table) : null;
    this.whole = this.table
      ? totals(this.table, this.table.sumCells({ from: -Infinity, to: Infinity, tid: null, pipeline: null }))
      : totalsOfProfile(profile, this.owners);
  }
}

export class PageView {
  readonly plan: PlanRow | null;
  readonly planKey: string;
  readonly operator: number | null;
  readonly owner: number; // of the chosen operator, -1: none
  readonly filter: RowFilter;
  readonly totals: Totals;
  readonly operatorRow: OperatorRow | null;
  readonly table: SampleTable | null; // of the chosen part, as fine as it is known
  readonly time: Range | null; // of all samples; null: not known one by one
  readonly sight: Range | null; // what charts show of it

  readonly base: Base;
  readonly chosen: Chosen;
  private readonly part: PartSamples | null;

  // `part`: covers the chosen time.
  constructor(base: Base, chosen: Chosen, part: PartSamples | null = null) {
    this.base = base;
    this.chosen = chosen;
    this.part = part;
    const times = timesOf(base, chosen);
    this.time = times?.all ?? null;
    this.sight = times?.sight ?? null;
    this.table = part ? part.table : base.table;
    const plans = base.profile.plans;
    // Where only a pipeline is named, it is that of its plan.
    const wanted = chosen.plan || planOfPipeline(chosen.pipeline ?? "");
    this.plan = plans.find((each) => planKeyOf(each) === wanted) ?? plans[0] ?? null;
    this.planKey = this.plan ? planKeyOf(this.plan) : "";
    this.operatorRow = this.plan?.operators.find((row) => row.id === chosen.operator) ?? null;
    this.operator = this.operatorRow ? this.operatorRow.id : null;
    this.owner = this.operator === null ? -1 : base.owners.find(operatorKey(this.planKey, this.operator));
    const counted = this.partOfTime;
    this.filter = {
      from: counted?.from ?? -Infinity,
      to: counted?.to ?? Infinity,
      tid: this.table?.slice ? null : chosen.tid,
      pipeline: chosen.pipeline,
    };
    const sum = this.table && (this.isPart || this.owner >= 0);
    this.totals = sum ? totals(this.table!, this.table!.sumCells(this.filter), this.owner < 0 ? null : this.owner) : base.whole;
  }

  // The range that somebody dragged.
  get range(): Range | null {
    const { from, to } = this.chosen;
    return from === null && to === null ? null : { from: from ?? -Infinity, to: to ?? Infinity };
  }
  get isZoomed(): boolean {
    return this.time !== null && this.sight !== null && !isWhole(this.sight, this.time);
  }
  // Whose samples count: those of the range, or else of what is in sight. Null: all.
  get partOfTime(): Range | null {
    return this.range ?? (this.isZoomed ? this.sight : null);
  }
  // As fine as the samples of a time are known.
  tableOf(range: Range): SampleTable | null {
    return this.part && this.part.from <= range.from && range.to <= this.part.to ? this.part.table : this.base.table;
  }
  // Whether less than all samples are chosen.
  get isPart(): boolean {
    return this.filter.from !== -Infinity || this.filter.to !== Infinity || this.filter.tid !== null || this.filter.pipeline !== null;
  }
  get profile(): Profile {
    return this.base.profile;
  }
  get owners(): Owners {
    return this.base.owners;
  }
  get whole(): Totals {
    return this.base.whole;
  }
  get unit(): string {
    return this.profile.source.unit;
  }
  get unitName(): string {
    return this.unit === "ns_on_cpu" ? "CPU time" : this.unit === "ns_off_cpu" ? "time off CPU" : "events";
  }
  costOf(owner: number): Shared {
    return shareOf(this.totals.owners.get(owner), this.totals);
  }
}

// Where the samples are too many to be sent, the sums of the whole view are those of the report.
function totalsOfProfile(profile: Profile, owners: Owners): Totals {
  const out: Totals = {
    weight: profile.weight,
    samples: profile.samples,
    effective: profile.effective_samples,
    owners: new Map(),
    pipelines: new Map(),
    lines: new Map(),
    inferred: profile.all.inferred_weight,
    kernel: profile.all.kernel_weight,
    shared: profile.all.shared_weight,
  };
  const sum = (row: { weight: number; samples: number; kernel_weight: number; inferred_weight: number; shared_weight: number }) => ({
    weight: row.weight,
    samples: row.samples,
    kernel: row.kernel_weight,
    inferred: row.inferred_weight,
    shared: row.shared_weight,
  });
  for (const plan of profile.plans) {
    const key = planKeyOf(plan);
    for (const row of plan.operators) if (row.weight > 0) out.owners.set(owners.index(operatorKey(key, row.id)), sum(row));
    for (const row of plan.pipelines) out.pipelines.set(`${key}:${row.id}`, sum(row));
  }
  for (const row of [...profile.component_rows, ...profile.unattributed_rows]) out.owners.set(owners.index(row.owner, row.name), sum(row));
  return out;
}
