// When a query began to run by another plan, and what is not known of that.
import type { Execution, PlanChanges } from "../data/types.ts";
import { count } from "./format.ts";

export interface PlacedChange {
  atMs: number; // when the first execution by the new plan began
  before: Execution;
  after: Execution;
}

// Newest first. Of an execution whose begin is not known nobody knows when.
export function placed(answer: PlanChanges): PlacedChange[] {
  return answer.plan_changes.flatMap(({ before, after }) => (after.began_ms === undefined ? [] : [{ atMs: after.began_ms, before, after }]));
}

export function changesText({ plan_changes, executions, more }: PlanChanges): string {
  if (executions === 0) return "whether its plan changed is not known";
  const changes = plan_changes.length;
  if (changes === 0) return "its plan did not change";
  return `its plan changed ${more ? "more than " : ""}${changes === 1 ? "once" : `${count(changes)} times`}`;
}

// What the marks do not show, as sentences.
export function notMarked(answer: PlanChanges): string[] {
  const { plan_changes, more, executions, without_plan, cut } = answer;
  const out: string[] = [];
  if (more) out.push(`Shown are the newest ${count(plan_changes.length)} changes of the plan.`);
  if (cut) out.push(`Only the newest ${count(executions + without_plan)} executions were looked at for changes of the plan.`);
  if (without_plan > 0) out.push(`Of ${count(without_plan)} executions the plan is not known.`);
  const timeless = plan_changes.length - placed(answer).length;
  if (timeless > 0) out.push(`When ${count(timeless)} of the changes happened is not known.`);
  return out;
}
