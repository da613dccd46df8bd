// The plans of two profiles operator by operator, as `tailor diff` compares them: operators match by what they are and by what
// lies on the way from the root to them, else by what they are.
import type { CompareCost, CompareRow, Cost, OperatorRow, PlanRow, Profile } from "../data/types.ts";
import { wilson } from "./wilson.ts";

export interface ComparedSide extends CompareCost {
  id?: number; // of the operator
}

export interface ComparedRow extends Omit<CompareRow, "a" | "b" | "weight_change"> {
  kind?: string;
  a: ComparedSide | null;
  b: ComparedSide | null;
  weight_change: number | null; // null: how often each side ran the plan is not known
}

export interface Compared {
  same_plan: boolean | null; // null: not known
  operators: ComparedRow[];
  rest: ComparedRow[];
}

// Estimates and counts differ from one execution to the next.
const isFigure = (key: string) => ["cost", "loops", "wrappers"].includes(key) || /^(estimated|actual_|pages_)/.test(key);

function identity(row: OperatorRow): string {
  const attributes = (row.attributes ?? []).filter((each) => !isFigure(each.key)).map((each) => [each.key, each.value]);
  return JSON.stringify([row.kind, row.name, attributes]);
}

// Numbers for ways from the root. The same way has the same number in all plans; as texts, those of a deep plan would be long.
class Ways {
  private readonly numbers = new Map<string, number>();

  of(operators: OperatorRow[]): number[] {
    const above: number[] = [];
    return operators.map((row) => {
      above.length = Math.min(above.length, row.depth);
      const text = `${above[above.length - 1] ?? -1} ${identity(row)}`;
      let number = this.numbers.get(text);
      if (number === undefined) this.numbers.set(text, (number = this.numbers.size));
      above.push(number);
      return number;
    });
  }
}

const zero: Cost = { share: 0, share_low: 0, share_high: 0, samples: 0, weight: 0, kernel_weight: 0, inferred_weight: 0, shared_weight: 0 };

// The sum of several costs of a profile.
function sumOf(costs: Cost[], profile: Profile): Cost {
  if (costs.length === 1) return costs[0]!;
  const add = (key: keyof Cost) => costs.reduce((sum, each) => sum + each[key], 0);
  const weight = add("weight");
  const share = profile.weight > 0 ? Math.min(1, weight / profile.weight) : 0;
  const [share_low, share_high] = wilson(share, profile.effective_samples);
  return { share, share_low, share_high, samples: add("samples"), weight, kernel_weight: add("kernel_weight"), inferred_weight: add("inferred_weight"), shared_weight: add("shared_weight") };
}

interface Main {
  operators: (OperatorRow & { cost: Cost })[];
  ways: number[];
  others: number; // weight of the operators of other plans
}

// The dearest tree of operators. However often it was registered, it is one plan.
function mainOf(profile: Profile, ways: Ways): Main {
  const groups = new Map<string, { ways: number[]; plans: PlanRow[]; weight: number }>();
  for (const plan of profile.plans) {
    const own = ways.of(plan.operators);
    const key = own.join(" ");
    const group = groups.get(key) ?? { ways: own, plans: [], weight: 0 };
    groups.set(key, group);
    group.plans.push(plan);
    group.weight += plan.weight;
  }
  const [main] = [...groups.values()].sort((x, y) => y.weight - x.weight);
  if (!main) return { operators: [], ways: [], others: 0 };
  const operators = main.plans[0]!.operators.map((row, index) => ({ ...row, cost: sumOf(main.plans.map((plan) => plan.operators[index]!), profile) }));
  const shown = operators.reduce((sum, each) => sum + each.cost.weight, 0);
  return { operators, ways: main.ways, others: Math.max(0, profile.operators.weight - shown) };
}

function match<Key>(left: Key[], right: Key[], of: (number | null)[], taken: boolean[], found: (index: number) => void) {
  const free = new Map<Key, number[]>();
  right.forEach((key, index) => {
    if (!taken[index]) free.set(key, [...(free.get(key) ?? []), index]);
  });
  left.forEach((key, index) => {
    const to = of[index] === null ? free.get(key)?.shift() : undefined;
    if (to === undefined) return;
    of[index] = to;
    taken[to] = true;
    found(index);
  });
}

interface Known extends Cost {
  id?: number;
}
const sideOf = (cost: Cost, id: number): Known => ({ ...cost, id });

export function comparePlans(a: Profile, b: Profile): Compared {
  const ways = new Ways();
  // A side that lacks an operator has no sample of it.
  const [noneOfA, noneOfB] = [a, b].map((profile) => sumOf([zero, zero], profile)) as [Cost, Cost];
  const rowOf = (change: CompareRow["change"], name: string, kind: string, ofA: Known | null, ofB: Known | null): ComparedRow => {
    const [x, y] = [ofA ?? noneOfA, ofB ?? noneOfB];
    return { change, name, kind, a: ofA, b: ofB, weight_change: null, share_change: y.share - x.share, significant: x.share_high < y.share_low || y.share_high < x.share_low };
  };
  const [left, right] = [mainOf(a, ways), mainOf(b, ways)];
  const of: (number | null)[] = left.operators.map(() => null);
  const taken = right.operators.map(() => false);
  const moved = new Set<number>();
  match(left.ways, right.ways, of, taken, () => undefined);
  match(left.operators.map(identity), right.operators.map(identity), of, taken, (index) => moved.add(index));
  const operators = left.operators.map((row, index) => {
    const to = of[index];
    const other = to === null || to === undefined ? null : right.operators[to]!;
    return rowOf(other === null ? "gone" : moved.has(index) ? "moved" : "matched", row.name, row.kind, sideOf(row.cost, row.id), other && sideOf(other.cost, other.id));
  });
  right.operators.forEach((row, index) => {
    if (!taken[index]) operators.push(rowOf("new", row.name, row.kind, null, sideOf(row.cost, row.id)));
  });
  const rest = [
    rowOf("matched", "engine components", "", sideOf(a.engine_components, 0), sideOf(b.engine_components, 0)),
    rowOf("matched", "unattributed", "", sideOf(a.unattributed, 0), sideOf(b.unattributed, 0)),
  ];
  if (left.others > 1e-9 * a.weight || right.others > 1e-9 * b.weight) {
    const cost = (weight: number, profile: Profile) => sumOf([{ ...zero, weight }, zero], profile);
    rest.push(rowOf("matched", "operators of other plans", "", sideOf(cost(left.others, a), 0), sideOf(cost(right.others, b), 0)));
  }
  const samePlan = left.ways.length === right.ways.length && left.ways.every((way, index) => way === right.ways[index]);
  return { same_plan: samePlan, operators, rest };
}
