// pipeline > operator > task > line as a tree of sums. Where a sample has several owners on a level, what lies below
// that level has no single owner: it stays with the owner, as "shared code".
import type { PlanRow, Profile } from "../data/types.ts";
import { name as clean } from "./format.ts";
import type { Owners } from "./owners.ts";
import { planKeyOf } from "./owners.ts";
import type { CellSums, Part, SampleTable } from "./samples.ts";

export interface FlameNode {
  key: string;
  kind: "all" | "plan" | "pipeline" | "operator" | "task" | "line" | "shared" | "component" | "unattributed" | "rest" | "idle"; // the last two: only of elapsed time
  name: string;
  owner: number; // -1: none
  line: number;
  plan: string;
  weight: number;
  samples: number;
  children: FlameNode[];
}

export const levelNames = ["plan", "pipeline", "operator", "task", "line"] as const;
export type FlameLevel = (typeof levelNames)[number];
export const defaultOrder: FlameLevel[] = ["pipeline", "operator", "task", "line"];

type Step = Pick<FlameNode, "key" | "kind" | "name" | "owner" | "line" | "plan">;

class Builder {
  readonly root: FlameNode = leaf({ key: "", kind: "all", name: "all samples", owner: -1, line: 0, plan: "" });
  private readonly known = new Map<FlameNode, Map<string, FlameNode>>();

  add(path: Step[], weight: number, samples: number) {
    let at = this.root;
    at.weight += weight;
    at.samples += samples;
    for (const step of path) {
      at = this.child(at, step);
      at.weight += weight;
      at.samples += samples;
    }
  }

  private child(of: FlameNode, step: Step): FlameNode {
    let children = this.known.get(of);
    if (!children) this.known.set(of, (children = new Map()));
    let found = children.get(step.key);
    if (!found) {
      found = leaf({ ...step, key: `${of.key}/${step.key}` });
      children.set(step.key, found);
      of.children.push(found);
    }
    return found;
  }
}

function leaf(step: Step): FlameNode {
  return { ...step, weight: 0, samples: 0, children: [] };
}

class Names {
  private readonly plans = new Map<string, PlanRow>();
  private readonly tasks = new Map<string, string>();
  private readonly lines: Map<string, string>;
  constructor(profile: Profile, lines: Map<string, string>) {
    this.lines = lines;
    for (const plan of profile.plans) {
      const key = planKeyOf(plan);
      this.plans.set(key, plan);
      for (const pipeline of plan.pipelines) for (const task of pipeline.tasks) this.tasks.set(`${key}:${task.id}`, task.name);
    }
  }
  plan(key: string): string {
    return clean(this.plans.get(key)?.name ?? "plan", 80);
  }
  pipeline(plan: string, id: number): string {
    if (id === 0) return "no pipeline known";
    const found = this.plans.get(plan)?.pipelines.find((each) => each.id === id);
    return `pipeline ${id}${found?.name ? `: ${clean(found.name, 80)}` : ""}`;
  }
  task(plan: string, id: number): string {
    return id === 0 ? "no task known" : clean(this.tasks.get(`${plan}:${id}`) || `task ${id}`, 80);
  }
  line(plan: string, id: number): string {
    const text = this.lines.get(`${plan}:${id}`);
    return text ? `${id}: ${clean(text.trim(), 100)}` : `line ${id}`;
  }
}

// `lines`: texts by "<plan>:<line>". `owner`: only what this one owns.
export function flame(
  profile: Profile,
  owners: Owners,
  table: SampleTable,
  sums: CellSums,
  lines: Map<string, string>,
  order: FlameLevel[] = defaultOrder,
  owner: number | null = null,
): FlameNode {
  const names = new Names(profile, lines);
  const builder = new Builder();
  table.cells.forEach((cell, index) => {
    const weight = sums.weight[index]!;
    const samples = sums.samples[index]!;
    if (samples === 0) return;
    for (const [id, part] of cell.owners) {
      if (owner !== null && id !== owner) continue;
      const who = owners.at(id);
      const own: Step = { key: who.key, kind: who.kind, name: who.detail ? `${who.name} ${who.detail}` : who.name, owner: id, line: 0, plan: cell.plan };
      if (cell.plan === "" || who.kind !== "operator") {
        builder.add([own], weight * part, samples * part);
        continue;
      }
      const expand = (steps: Step[], rest: FlameLevel[], share: number, split: boolean) => {
        const [level, ...after] = rest;
        if (level === undefined) return builder.add(steps, weight * share, samples * share);
        const each = (parts: Part[], step: (id: number) => Step) => {
          const known = parts.filter(([number]) => number !== 0);
          if (known.length === 0) return builder.add(steps, weight * share, samples * share);
          if (split) {
            const shared: Step = { key: "shared", kind: "shared", name: "shared code", owner: id, line: 0, plan: cell.plan };
            return builder.add([...steps, shared], weight * share, samples * share);
          }
          let rest = share;
          for (const [number, amount] of known) {
            rest -= share * amount;
            expand([...steps, step(number)], after, share * amount, known.length > 1);
          }
          if (rest > 1e-9) builder.add(steps, weight * rest, samples * rest);
        };
        const base = { owner: id, line: 0, plan: cell.plan };
        if (level === "plan") expand([...steps, { ...base, key: `plan:${cell.plan}`, kind: "plan", name: names.plan(cell.plan), owner: -1 }], after, share, split);
        else if (level === "pipeline")
          expand([...steps, { ...base, key: `pipeline:${cell.plan}:${cell.pipeline}`, kind: "pipeline", name: names.pipeline(cell.plan, cell.pipeline), owner: -1 }], after, share, split);
        else if (level === "operator") expand([...steps, own], after, share, split || cell.owners.length > 1);
        else if (level === "task") each(cell.tasks, (number) => ({ ...base, key: `task:${cell.plan}:${number}`, kind: "task", name: names.task(cell.plan, number) }));
        else each(cell.lines, (number) => ({ ...base, key: `line:${cell.plan}:${number}`, kind: "line", name: names.line(cell.plan, number), line: number }));
      };
      expand([], order, part, false);
    }
  });
  sortTree(builder.root);
  return builder.root;
}

// Operators and pipelines keep the most expensive first; what nobody owns comes last.
function sortTree(node: FlameNode) {
  const last = (each: FlameNode) => (each.kind === "unattributed" ? 2 : each.kind === "component" ? 1 : 0);
  node.children.sort((a, b) => last(a) - last(b) || b.weight - a.weight || (a.key < b.key ? -1 : 1));
  node.children.forEach(sortTree);
}
