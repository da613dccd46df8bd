// What made the executions take so long: the plan card's table, and what stands beside the plan, in parts of the elapsed time.
import type { Profile } from "../data/types.ts";
import type { Divided, ElapsedPart, ElapsedRow } from "../model/divided.ts";
import { count, duration, interval, name as clean, percent } from "../model/format.ts";
import type { Loaded } from "./load.ts";
import type { PageView } from "./page_view.ts";
import { type Column, DataTable, Message, shareColumns } from "./parts.tsx";

// Whether elapsed time is wanted, and what the server answers. Null instead of it: it is not to be had here.
export interface ElapsedChoice {
  wanted: boolean;
  answer: Loaded<Profile> | null;
}

export const measures: ["cpu" | "elapsed", string][] = [["cpu", "CPU time"], ["elapsed", "Elapsed time"]];

const threadsText = (threads: number | null) => (threads === null ? "" : threads.toFixed(1));
// Where chance in the samples may explain it, no number is claimed.
const skewText = ({ skew }: ElapsedPart) => (skew === null ? "" : skew.low > 1 ? skew.value.toFixed(1) : "–");

const columnsOf = (what: string): Column<ElapsedRow>[] => [
  { name: what, value: (row) => clean(row.name, 80), show: (row) => <span class="below" style={{ paddingLeft: `${Math.min(20, row.depth) * 10}px` }}>{clean(row.name, 80)}</span> },
  { name: "of", value: (row) => row.detail },
  ...shareColumns<ElapsedRow>((row) => row.part),
  { name: "elapsed time", number: true, value: (row) => row.part.weight, show: (row) => duration(row.part.weight) },
  { name: "threads", title: "How many threads worked on average while one worked for the row", number: true, value: (row) => row.part.threads ?? 0, show: (row) => threadsText(row.part.threads) },
  { name: "skew", title: "The CPU time of the busiest thread of an execution against the mean of the threads that worked for the row; –: chance may explain the difference", number: true, value: (row) => (row.part.skew && row.part.skew.low > 1 ? row.part.skew.value : 0), show: (row) => skewText(row.part) },
];

export function ElapsedTable({ divided, operator, onOperator }: { divided: Divided; operator: number | null; onOperator: (id: number) => void }) {
  return (
    <>
      <DataTable caption="Parts of the elapsed time" rows={divided.rows} onRow={(row) => row.id !== null && onOperator(row.id)} selected={(row) => row.id !== null && row.id === operator} columns={columnsOf("operator")} />
      {divided.pipelines.length > 0 && <DataTable caption="Pipelines in the elapsed time" rows={divided.pipelines} columns={columnsOf("pipeline")} />}
    </>
  );
}

// What no operator of the plan has of the elapsed time. The line of the time in which no thread worked is always there.
export function BesideElapsed({ divided }: { divided: Divided }) {
  const others = divided.rows.filter((row) => row.kind !== "operator" && row.kind !== "idle" && row.part.weight > 0).sort((a, b) => b.part.weight - a.part.weight);
  const idle = divided.rows.filter((row) => row.kind === "idle");
  return (
    <div class="beside">
      <h3>Beside the plan’s operators</h3>
      <ul>
        {[...idle, ...others.slice(0, 8)].map((row) => (
          <li key={row.key}>
            <span class={`swatch ${row.kind}`} />
            <span class="what">{clean(row.name, 80)}</span>
            <b>{percent(row.part.share)}</b> {row.kind !== "idle" && <span class="dim">{interval(row.part.low, row.part.high)}</span>}
          </li>
        ))}
        {others.length > 8 && <li class="dim">and {others.length - 8} more: see the table</li>}
      </ul>
    </div>
  );
}

// What is shown instead of the plan while there are no numbers. Null: they are there.
export function withoutElapsed(choice: ElapsedChoice, divided: Divided | null) {
  if (divided?.hasPlan) return null;
  if (divided) return <Message text="Of this plan no elapsed time is known in the chosen time." />;
  const error = choice.answer?.error;
  return error ? <Message kind="error" text={error.message} /> : <Message text="Dividing the elapsed time…" />;
}

// Of how much time the shares are parts, and what is not among it.
export function elapsedNote({ time }: Divided, view: PageView): string {
  const { tid, pipeline } = view.chosen;
  const added = time.added_up ? `, ${count(time.added_up)} of runs that were added up left out` : "";
  const short = (time.too_short > 0 ? `, ${count(time.too_short)} too short to judge` : "") + added;
  const all = tid !== null || pipeline !== null ? ", of all threads and pipelines" : "";
  return `${duration(time.ns)} of elapsed time${short}${all}`;
}
