// What the charts of an execution show one by one: operators, pipelines or threads, each with its cost in the chosen part.
import { ownerColor, palette, shadeColor } from "../draw/colors.ts";
import { name as clean } from "../model/format.ts";
import { planOfPipeline } from "../model/owners.ts";
import type { Part, SampleTable } from "../model/samples.ts";
import { shareOf, type Shared, type Sum, type Totals } from "../model/totals.ts";
import { change, route } from "../state/route.ts";
import { theme } from "../state/theme.ts";
import { isPlanless, type PageView } from "./page_view.ts";

export type LaneBy = "operator" | "pipeline" | "thread";

export interface Lane {
  key: string;
  name: string;
  detail: string;
  owners: number[]; // none: of a pipeline or a thread
  color: string;
  hatched: boolean;
  selected: boolean;
  share: Shared;
  inAll: Shared | null; // of the whole view; null: it has none of its own there
  choose: () => void;
}

// Parts of the engine below this share of the whole view are one lane, until somebody wants to see each.
const smallPart = 0.01;

// Of the engine's parts those that are small in the whole view; none if there is only one, which needs no less room.
export function smallParts(view: PageView): number[] {
  if (route.value.state["parts"] === "all") return [];
  const small = [...view.whole.owners].filter(([index, sum]) => view.owners.at(index).kind === "component" && sum.weight < smallPart * view.whole.weight);
  return small.length > 1 ? small.map(([index]) => index).sort((a, b) => a - b) : [];
}

export const smallPartsText = (count: number) => `${count} small parts of the engine`;
export const showSmallParts = () => change({ parts: "all" });

function sumOfOwners(totals: Totals, owners: number[]): Sum {
  const out = { weight: 0, samples: 0, kernel: 0, inferred: 0, shared: 0 };
  for (const owner of owners) {
    const sum = totals.owners.get(owner);
    if (sum) for (const key of Object.keys(out) as (keyof Sum)[]) out[key] += sum[key];
  }
  return out;
}

export const costOfOwners = (totals: Totals, owners: number[]): Shared => shareOf(sumOfOwners(totals, owners), totals);

function ownerLane(view: PageView, index: number): Lane {
  const owner = view.owners.at(index);
  const own = owner.kind === "operator" && owner.plan === view.planKey;
  return {
    key: owner.key,
    name: owner.name,
    detail: owner.detail,
    owners: [index],
    color: ownerColor(owner, theme.value),
    hatched: owner.kind === "unattributed",
    selected: index === view.owner,
    share: view.costOf(index),
    inAll: shareOf(view.whole.owners.get(index), view.whole),
    choose: () => own && change({ op: owner.id === view.operator ? null : owner.id, line: null }),
  };
}

function smallLane(view: PageView, owners: number[]): Lane {
  return {
    key: "small",
    name: smallPartsText(owners.length),
    detail: owners.map((index) => view.owners.at(index).name).join(", "),
    owners,
    color: palette(theme.value).component,
    hatched: false,
    selected: false,
    share: costOfOwners(view.totals, owners),
    inAll: costOfOwners(view.whole, owners),
    choose: showSmallParts,
  };
}

function ownerLanes(view: PageView): Lane[] {
  const small = smallParts(view);
  const indices = [...view.whole.owners.keys()].filter((index) => !small.includes(index)).sort((a, b) => a - b);
  const lanes = indices.map((index) => ownerLane(view, index));
  if (small.length === 0) return lanes;
  const before = indices.findIndex((index) => view.owners.at(index).kind === "unattributed");
  lanes.splice(before < 0 ? lanes.length : before, 0, smallLane(view, small));
  return lanes;
}

// Where nothing says of which lane samples are, as they are not there one by one.
function allLane(view: PageView): Lane {
  const owners = [...view.whole.owners.keys()];
  return {
    key: "all",
    name: "all samples",
    detail: "",
    owners,
    color: palette(theme.value).accent,
    hatched: false,
    selected: false,
    share: costOfOwners(view.totals, owners),
    inAll: costOfOwners(view.whole, owners),
    choose: () => undefined,
  };
}

// Lanes in the order of the plan; those without samples have none.
export function lanesOf(view: PageView, by: LaneBy, table: SampleTable): Lane[] {
  const whole = view.whole;
  if (by === "operator") return isPlanless(view.profile) ? [allLane(view)] : ownerLanes(view);
  if (by === "pipeline") {
    const names = new Map(view.profile.plans.flatMap((plan) => plan.pipelines.map((pipe) => [`${plan.plan_key ?? ""}:${pipe.id}`, pipe.name])));
    const lanes = [...whole.pipelines.keys()].sort(byNumberAtEnd).map((key, index): Lane => {
      const id = Number(key.split(":").pop());
      return {
        key,
        name: id === 0 ? "no pipeline known" : `pipeline ${id}`,
        detail: clean(names.get(key) ?? "", 60),
        owners: [],
        color: id === 0 ? palette(theme.value).component : shadeColor(index, theme.value),
        hatched: false,
        selected: key === view.filter.pipeline,
        share: shareOf(view.totals.pipelines.get(key), view.totals),
        inAll: shareOf(whole.pipelines.get(key), whole),
        choose: () => change(key === view.filter.pipeline ? { pipe: null } : { pipe: key, ...planOf(key, view) }),
      };
    });
    return lanes;
  }
  const sums = costOfThreads(view, table);
  const all = costOfThreads(everything, table);
  return [...all.keys()]
    .sort((a, b) => a - b)
    .map((tid, index): Lane => ({
      key: String(tid),
      name: `thread ${tid}`,
      detail: "",
      owners: [],
      color: shadeColor(index, theme.value),
      hatched: false,
      selected: tid === view.filter.tid,
      share: shareOf(sums.get(tid), view.totals),
      inAll: table === view.base.table ? shareOf(all.get(tid), whole) : null,
      choose: () => change({ tid: tid === view.filter.tid ? null : tid }),
    }));
}

// A pipeline of another plan than the one that is shown brings its plan with it: the lines of code are those of that plan.
function planOf(pipeline: string, view: PageView): Record<string, string | null> {
  const plan = planOfPipeline(pipeline);
  return plan === "" || plan === view.planKey ? {} : { plan, op: null, line: null };
}

const everything = { filter: { from: -Infinity, to: Infinity, tid: null, pipeline: null } };

function costOfThreads({ filter }: Pick<PageView, "filter">, table: SampleTable): Map<number, Sum> {
  const out = new Map<number, Sum>();
  const kept = table.keptCells(filter);
  const [first, last] = table.range(filter);
  for (let i = first; i < last; i++) {
    if (!kept[table.cell[i]!]) continue;
    const tid = table.tid[i]!;
    const sum = out.get(tid) ?? { weight: 0, samples: 0, kernel: 0, inferred: 0, shared: 0 };
    sum.weight += table.weight[i]!;
    sum.samples += table.samples[i]!;
    out.set(tid, sum);
  }
  return out;
}

const byNumberAtEnd = (a: string, b: string) => Number(a.split(":").pop()) - Number(b.split(":").pop());

// For a row of the samples, the lanes that it belongs to, by its parts.
export function laneOfRow(by: LaneBy, table: SampleTable, lanes: Lane[]): (row: number) => Part[] {
  const place = new Map(lanes.map((lane, index) => [lane.key, index]));
  const ofOwner = new Map(lanes.flatMap((lane, index) => lane.owners.map((owner) => [owner, index] as const)));
  if (by === "thread") return (row) => [[place.get(String(table.tid[row])) ?? -1, 1]];
  const ofCell = table.cells.map((cell): Part[] => {
    if (by === "operator") return cell.owners.map(([owner, part]) => [ofOwner.get(owner) ?? -1, part]);
    return cell.plan === "" ? [] : [[place.get(`${cell.plan}:${cell.pipeline}`) ?? -1, 1]];
  });
  return (row) => ofCell[table.cell[row]!]!;
}
