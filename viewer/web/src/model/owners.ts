// Who can own a cost: operators of plans, engine components, and the reasons why nobody does.
import type { OperatorRow, PlanRow, Profile } from "../data/types.ts";
import { count, name as clean } from "./format.ts";

export type OwnerKind = "operator" | "component" | "unattributed";

export interface Owner {
  key: string;
  kind: OwnerKind;
  name: string;
  detail: string; // what the operator works on: a table, a predicate, keys
  operatorKind: string;
  plan: string; // key of its plan, "" without one
  id: number;
  shade: number; // index into the palette
}

// Of the attributes, those that say what an operator works on come first.
const telling = ["details", "predicate", "condition", "on", "keys", "group_by", "order_by", "by", "expression", "filter", "table"];
const measuredKeys = ["measured_rows", "actual_rows", "rows"];
const rowKeys = new Set(["estimated_rows", "loops", ...measuredKeys]);

export function detailOf(row: OperatorRow): string {
  const attributes = row.attributes ?? [];
  for (const key of telling) {
    const found = attributes.find((each) => each.key === key && each.value !== "");
    // The name may say it already: "Scan lineitem".
    if (found && !row.name.includes(found.value)) return clean(found.value, 120);
  }
  const rest = attributes.filter((each) => !rowKeys.has(each.key) && each.value !== "" && !row.name.includes(each.value));
  return rest.map((each) => clean(each.value, 60)).join(", ");
}

function rowsOf(row: OperatorRow, keys: string[]): number | null {
  for (const key of keys) {
    const found = row.attributes?.find((each) => each.key === key);
    if (found && found.value !== "" && Number.isFinite(Number(found.value))) return Math.round(Number(found.value));
  }
  return null;
}

export const estimatedRows = (row: OperatorRow) => rowsOf(row, ["estimated_rows"]);
// Of one execution, in each of its loops if the engine counts these.
export const measuredRows = (row: OperatorRow) => rowsOf(row, measuredKeys);

// What is known of an operator's rows, and by how much the estimate was off.
export function rowsOfOperator(row: OperatorRow): { text: string; off: number } {
  const [estimated, measured, loops] = [estimatedRows(row), measuredRows(row), rowsOf(row, ["loops"])];
  if (estimated === null && measured === null) return { text: "", off: 1 };
  const off = estimated !== null && measured !== null ? Math.max(estimated, measured, 1) / Math.max(1, Math.min(estimated, measured)) : 1;
  if (measured === null) return { text: `${loops === 0 ? "never run, " : ""}est. ${count(estimated!)} rows`, off };
  return { text: `${count(measured)} rows${loops !== null && loops > 1 ? ` in each of ${count(loops)} loops` : ""}, est. ${estimated === null ? "unknown" : count(estimated)}`, off };
}

export const planKeyOf = (plan: PlanRow): string => plan.plan_key ?? `${plan.process.pid}.${plan.process.start}.${plan.plan}`;
export const operatorKey = (plan: string, id: number): string => `operator:${plan}:${id}`;
// Of a pipeline, which is "<plan>:<id>"; empty: of none.
export const planOfPipeline = (pipeline: string): string => pipeline.slice(0, Math.max(pipeline.lastIndexOf(":"), 0));

const reasons: Record<string, string> = {
  prologue: "set-up code of generated functions",
  two_names: "generated code whose address had two names",
  unmapped: "generated code of unknown origin",
  no_operator: "generated code that no operator owns",
};

// Tailor's own thread in an engine waits for work nearly always. That is no time that the engine lost.
export const ownAgent = { id: 4294967295, name: "tailor agent" };
export const isOwnKey = (key: string) => key.startsWith("component:") && key.endsWith(`:${ownAgent.id}`);

export class Owners {
  readonly all: Owner[] = [];
  private readonly byKey = new Map<string, number>();

  constructor(profile: Profile) {
    let shade = 0;
    for (const plan of profile.plans) {
      const key = planKeyOf(plan);
      for (const row of plan.operators) {
        this.put({
          key: operatorKey(key, row.id),
          kind: "operator",
          name: clean(row.name, 80),
          detail: detailOf(row),
          operatorKind: row.kind,
          plan: key,
          id: row.id,
          shade: shade++,
        });
      }
    }
    for (const row of [...profile.component_rows, ...profile.unattributed_rows]) this.index(row.owner, row.name);
  }

  // Its number; unknown owners are added, so that no cost is left without one.
  index(key: string, name?: string): number {
    const known = this.byKey.get(key);
    if (known !== undefined) return known;
    const [kind = "", ...rest] = key.split(":");
    const plain = rest[rest.length - 1] ?? key;
    return this.put({
      key,
      kind: kind === "component" || kind === "operator" ? kind : "unattributed",
      name: clean(name ?? reasons[plain] ?? plain, 120),
      detail: "",
      operatorKind: "",
      plan: kind === "operator" ? (rest[0] ?? "") : "",
      id: Number(plain) || 0,
      shade: this.all.length,
    });
  }

  at(number: number): Owner {
    return this.all[number]!;
  }

  find(key: string): number {
    return this.byKey.get(key) ?? -1;
  }

  private put(owner: Owner): number {
    this.byKey.set(owner.key, this.all.length);
    return this.all.push(owner) - 1;
  }
}

export function reasonKey(key: string): string {
  return key.startsWith("unattributed:") ? key : `unattributed:${key}`;
}

// Why a cost of a plan has no operator, as the daemon's reports say it.
export function reasonOfQuality(quality: string): string {
  const said = ["prologue", "unmapped", "two_names"].includes(quality);
  return reasonKey(said ? quality : "no_operator");
}
