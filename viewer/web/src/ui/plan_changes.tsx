// Changes of a query's plan: as marks in its chart, and as a table with what ran before and after.
import { useMemo } from "preact/hooks";
import type { Access } from "../data/access.ts";
import type { PlanChanges } from "../data/types.ts";
import { name as clean } from "../model/format.ts";
import { changesText, notMarked, placed, type PlacedChange } from "../model/plan_changes.ts";
import { link } from "../state/route.ts";
import { type Loaded, useLoad } from "./load.ts";
import { DataTable } from "./parts.tsx";
import type { ChartMark } from "./stack_chart.tsx";

const mostChanges = 100;

export function usePlanChanges(access: Access, fingerprint: string, since?: string, until?: string): Loaded<PlanChanges> {
  const parameters = { fingerprint, limit: mostChanges, since, until, timeout_ms: 60000 };
  return useLoad<PlanChanges>(access, access.has("plan-changes", parameters) ? "plan-changes" : null, parameters);
}

export function useChangeMarks(answer: PlanChanges | null): ChartMark[] {
  return useMemo(() => (answer ? placed(answer).map(({ atMs }) => ({ atMs, text: `the plan changed: ${timeText(atMs)}` })) : []), [answer]);
}

// For the head of a card; "" where nothing is asked, or the answer is under way.
export function changesNote({ value, error }: Loaded<PlanChanges>): string {
  if (error) return "whether its plan changed is not known";
  return value ? changesText(value) : "";
}

export function ChangesOfPlan({ changes }: { changes: Loaded<PlanChanges> }) {
  if (changes.error) return <p class="dim small">Whether the plan changed is not known: {clean(changes.error.message, 200)}</p>;
  if (!changes.value) return null;
  const rows = placed(changes.value);
  return (
    <>
      {rows.length > 0 && (
        <DataTable
          caption="Changes of the plan"
          rows={rows}
          columns={[
            { name: "plan changed", value: (row) => row.atMs, show: (row) => timeText(row.atMs) },
            { name: "last run before", value: (row) => row.before.began_ms ?? 0, show: (row) => <Run id={row.before.id} text={row.before.began_ms === undefined ? "not known when" : timeText(row.before.began_ms)} /> },
            { name: "first run after", value: (row) => clean(row.after.plan_name, 60), show: (row) => <Run id={row.after.id} text={clean(row.after.plan_name, 60)} /> },
            { name: "both", value: (row) => Number(haveSamples(row)), show: (row) => (haveSamples(row) ? <a href={link("compare", "", { a: row.before.id, b: row.after.id })}>Compare</a> : "one has no samples") },
          ]}
        />
      )}
      {notMarked(changes.value).map((note) => (
        <p key={note} class="dim small">
          {note}
        </p>
      ))}
    </>
  );
}

const timeText = (ms: number) => new Date(ms).toLocaleString();
const haveSamples = ({ before, after }: PlacedChange) => before.samples > 0 && after.samples > 0;
const Run = ({ id, text }: { id: string; text: string }) => <a href={link("execution", id)}>{text}</a>;
