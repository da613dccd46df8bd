// Two executions side by side, operators aligned: what each cost in both, and which differences are more than chance.
import type { Access } from "../data/access.ts";
import type { Compare, CompareRow, Cost } from "../data/types.ts";
import { amount, duration, interval, name as clean, percent, points, rowsText, signed, ticks } from "../model/format.ts";
import { link, route } from "../state/route.ts";
import { useLoad } from "./load.ts";
import { Card, DataTable, Message } from "./parts.tsx";

const words = { matched: "in both", moved: "moved", new: "only in B", gone: "only in A" } as const;

export function ComparePage({ access }: { access: Access }) {
  const { a, b, source } = route.value.state;
  const data = useLoad<Compare>(access, a && b ? "compare" : null, { a, b, source });
  if (!a || !b) return <Message text="Mark an execution in the overview, then choose the one to compare it with." />;
  if (data.error) return <Message kind="error" text={data.error.message} />;
  if (!data.value) return <Message text="Comparing…" />;
  return <Comparison data={data.value} />;
}

export function Comparison({ data }: { data: Compare }) {
  const unit = data.source.unit;
  const rows: CompareRow[] = [...data.operators, ...(data.rest ?? []).map((row) => ({ ...row, change: "matched" as const }))];
  const weight = (side: "a" | "b") => rows.reduce((sum, row) => sum + (row[side]?.weight ?? 0), 0);
  const significant = rows.filter((row) => row.significant).length;
  const changed = weight("a") > 0 ? (weight("b") - weight("a")) / weight("a") : 0;
  return (
    <main class="compare" id="main">
      <div class="heading">
        <h1>
          {clean(data.a.plan_name, 60)} <span class="dim">against</span> {clean(data.b.plan_name, 60)}
        </h1>
        <span class="badge">{data.same_plan ? "the same plan" : "different plans"}</span>
      </div>
      <div class="two">
        <Side name="A" row={data.a} weight={weight("a")} unit={unit} />
        <Side name="B" row={data.b} weight={weight("b")} unit={unit} />
      </div>
      <p class="verdict">
        B cost <b>{changed >= 0 ? `${percent(changed)} more` : `${percent(-changed)} less`}</b> than A.{" "}
        {significant === 0 ? "No operator’s share differs by more than chance explains." : `The ${significant === 1 ? "share of 1 row differs" : `shares of ${significant} rows differ`} by more than chance explains.`}
      </p>
      <Card
        id="compare"
        title="Operators"
        note="share of each execution, with its 95 % interval; ● the intervals do not overlap"
        table={() => (
          <DataTable
            caption="Operators of both executions"
            rows={rows}
            columns={[
              { name: "operator", value: (row) => clean(row.name, 80) },
              { name: "change", value: (row) => words[row.change] ?? row.change },
              { name: "A", number: true, value: (row) => row.a?.share ?? 0, show: (row) => sideText(row.a) },
              { name: "B", number: true, value: (row) => row.b?.share ?? 0, show: (row) => sideText(row.b) },
              { name: "share B − A", number: true, value: (row) => row.share_change, show: (row) => points(row.share_change) },
              { name: "cost B − A", number: true, value: (row) => row.weight_change, show: (row) => signed(row.weight_change, (size) => amount(size, unit)) },
              { name: "more than chance", value: (row) => (row.significant ? "yes" : "no") },
            ]}
          />
        )}
      >
        <Dumbbells rows={rows} unit={unit} />
      </Card>
    </main>
  );
}

const sideText = (side: Cost | null) => (side ? `${percent(side.share)} (${interval(side.share_low, side.share_high)})` : "–");

function Side({ name, row, weight, unit }: { name: string; row: Compare["a"]; weight: number; unit: string }) {
  return (
    <section class={`card side ${name}`} aria-label={`Execution ${name}`}>
      <h2>
        <span class="letter">{name}</span> <a href={link("execution", row.id)}>{clean(row.plan_name, 60)}</a> <span class="dim">{row.id.slice(0, 12)}</span>
      </h2>
      <p>
        {amount(weight, unit)} sampled · {row.samples.toLocaleString("en")} samples{row.elapsed_ns !== undefined ? ` · took ${duration(row.elapsed_ns)}` : ""} · {rowsText(row.rows)}
      </p>
    </section>
  );
}

function Dumbbells({ rows, unit }: { rows: CompareRow[]; unit: string }) {
  const top = Math.max(0.01, ...rows.flatMap((row) => [row.a?.share_high ?? 0, row.b?.share_high ?? 0]));
  const at = (share: number) => `${(Math.min(1, share / top) * 100).toFixed(2)}%`;
  const mark = (side: Cost | null, name: string) =>
    side && (
      <>
        <span class={`ci ${name}`} style={{ left: at(side.share_low), width: `calc(${at(side.share_high)} - ${at(side.share_low)})` }} />
        <span class={`dot ${name}`} style={{ left: at(side.share) }}>
          {name}
        </span>
      </>
    );
  const marks = ticks(0, top, 8);
  const grid = marks.map((share) => <i key={share} class="mark" style={{ left: at(share) }} />);
  return (
    <div class="dumbbells">
      <div class="dumbbell scale" aria-hidden="true">
        <span class="dim">share of the execution</span>
        <span class="track">
          {marks.map((share) => (
            <span key={share} class="tick" style={{ left: at(share) }}>
              {`${Number((share * 100).toFixed(1))} %`}
            </span>
          ))}
        </span>
        <span />
      </div>
      {rows.map((row, index) => (
        <div key={index} class={`dumbbell ${row.change}`}>
          <span class="what" title={clean(row.name)}>
            {clean(row.name, 46)} {row.change !== "matched" && <span class="badge">{words[row.change] ?? row.change}</span>}
          </span>
          <span class="track" aria-hidden="true">
            {grid}
            {mark(row.a, "a")}
            {mark(row.b, "b")}
          </span>
          <span class={`delta ${row.significant ? "sure" : ""}`}>
            {row.significant ? "● " : ""}
            {points(row.share_change)} <span class="dim">{signed(row.weight_change, (size) => amount(size, unit))}</span>
          </span>
        </div>
      ))}
    </div>
  );
}
