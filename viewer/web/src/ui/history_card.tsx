// One query over hours or days: what its operators cost in each period, and how two periods differ.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Access } from "../data/access.ts";
import type { History, HistorySums, PlanChanges } from "../data/types.ts";
import { amount, count, duration, interval, name as clean, percent, points } from "../model/format.ts";
import { allDrawn, differences, eventOf, type Line, linesOf, shareIn, type ShareOf, sumOf } from "../model/periods.ts";
import { meanElapsed } from "../model/runs.ts";
import { change, route } from "../state/route.ts";
import { linkToTimes } from "./compare_times.tsx";
import { type Loaded, useLoad } from "./load.ts";
import { Card, Choice, DataTable, Message, shareColumns } from "./parts.tsx";
import { ChangesOfPlan, changesNote, useChangeMarks, usePlanChanges } from "./plan_changes.tsx";
import { type Series, SeriesSwatch, StackChart } from "./stack_chart.tsx";
import { Damage, Fact, WhoseTime } from "./trust.tsx";

const mostColumns = 400; // of the chart
const mostSeries = 9;
const mostRows = 1000; // that are asked for

type By = History["by"];

export function HistoryCard({ access, fingerprint, since, until }: { access: Access; fingerprint: string; since?: string; until?: string }) {
  const wanted = route.value.state["by"];
  const by: By = wanted === "hour" ? "hour" : "day";
  const answer = useLoad<History>(access, "history", { fingerprint, by, limit: mostRows, since, until });
  const changes = usePlanChanges(access, fingerprint, since, until);
  const tools = <Choice label="Period" value={by} options={[["day", "Days"], ["hour", "Hours"]]} onChange={(to: By) => change({ by: to === "day" ? null : to, a: null, b: null })} />;
  if (answer.error) {
    return (
      <Card id="history" title="Operators over time" tools={tools}>
        <Message text={answer.error.message} />
      </Card>
    );
  }
  if (!answer.value) return <Message text="Reading the sums of hours and days…" />;
  return <Over history={answer.value} changes={changes} fingerprint={fingerprint} tools={tools} />;
}

function Over({ history, changes, fingerprint, tools }: { history: History; changes: Loaded<PlanChanges>; fingerprint: string; tools: ComponentChildren }) {
  const event = eventOf(history);
  const unit = history.rows.find((row) => row.source === event)?.unit ?? "events";
  const lines = useMemo(() => linesOf(history, event), [history, event]);
  const whole = sumOf(lines);
  const chart = useMemo(() => columnsOf(history, event, lines, unit), [history, event, lines, unit]);
  const marks = useChangeMarks(changes.value);
  const note = changesNote(changes);
  return (
    <>
      <HistoryTrust history={history} lines={lines} unit={unit} />
      <Card
        id="history"
        title="Operators over time"
        note={`${clean(event, 40)}, by ${history.by}${history.by === "day" ? " (UTC)" : ""}${note && `; ${note}`}`}
        tools={tools}
        table={() => (
          <DataTable
            caption="Operators over time"
            rows={lines}
            columns={[
              { name: "what", value: (row) => clean(row.name, 80) },
              { name: "kind", value: (row) => row.what },
              ...shareColumns<Line>((row) => shareIn(row, whole)),
              { name: "cost", number: true, value: (row) => row.weight, show: (row) => amount(row.weight, unit) },
            ]}
          />
        )}
      >
        <StackChart series={chart.series} fromMs={chart.fromMs} bucketMs={chart.bucketMs} height={190} unit={chart.unit} format={(value) => value.toPrecision(3)} label="What the operators cost in each period; the table has the sums. A dashed line is a change of the plan" marks={marks} />
        <p class="legend">
          {chart.series.map((each, index) => (
            <span key={each.key}>
              <SeriesSwatch series={each} index={index} /> {each.name} <span class="dim">{percent(chart.shares[index]!)}</span>
            </span>
          ))}
        </p>
        {history.rows.length >= mostRows && <p class="dim small">Shown are the {mostRows} dearest rows. The sums lack what is beyond.</p>}
        <ChangesOfPlan changes={changes} />
      </Card>
      <Periods history={history} fingerprint={fingerprint} event={event} unit={unit} />
    </>
  );
}

// A column a period. Periods in which the query did not run are not in the answer, and are empty here.
function columnsOf(history: History, event: string, lines: Line[], unit: string) {
  const bucketMs = history.by === "hour" ? 3_600_000 : 86_400_000;
  const last = Math.max(...history.periods.map((each) => each.begin_ms));
  const first = Math.max(Math.min(...history.periods.map((each) => each.begin_ms)), last - (mostColumns - 1) * bucketMs);
  const columns = Math.round((last - first) / bucketMs) + 1;
  const shown = lines.filter((line, index) => index < mostSeries || line.what === "unattributed");
  const place = new Map(shown.map((line, index) => [line.key, index]));
  const whole = sumOf(lines).weight;
  const series: Series[] = shown.map((line) => ({ key: line.key, name: clean(line.name, 60), values: new Array<number>(columns).fill(0), grey: line.what === "component", hatched: line.what === "unattributed" }));
  const shares = shown.map((line) => (whole > 0 ? line.weight / whole : 0));
  if (shown.length < lines.length) {
    series.push({ key: "other", name: `${lines.length - shown.length} others`, values: new Array<number>(columns).fill(0), grey: true });
    shares.push(1 - shares.reduce((a, b) => a + b, 0));
  }
  for (const period of history.periods) {
    const column = Math.round((period.begin_ms - first) / bucketMs);
    if (column < 0) continue;
    for (const line of linesOf(period, event)) {
      const to = series[place.get(line.key) ?? series.length - 1]!;
      to.values[column]! += unit === "events" ? line.weight : line.weight / 1e9;
    }
  }
  return { series, shares, fromMs: first, bucketMs, unit: unit === "events" ? "events" : "s" };
}

function HistoryTrust({ history, lines, unit }: { history: History; lines: Line[]; unit: string }) {
  const whole = sumOf(lines);
  const part = (what: Line["what"]) => shareIn(sumOf(lines.filter((line) => line.what === what)), whole);
  const [ops, comps, none] = [part("operator"), part("component"), part("unattributed")];
  const { losses } = history;
  const lost = losses ? losses.lost_ring + losses.lost_hardware + losses.unwritten : 0;
  return (
    <aside class="trust" aria-label="What stands behind the numbers">
      <WhoseTime ops={ops} comps={comps} none={none} />
      <Fact name="samples" value={count(whole.samples)} more={amount(whole.weight, unit)} bad={whole.samples < 30} title="Intervals are 95 % Wilson score intervals on the effective number of samples: fewer, if weights differ" />
      {whole.weight > 0 && whole.squares === null && <Fact name="intervals" value="not known" bad title={allDrawn(history) ? "An older version summed up some of this time. It did not count what intervals follow from" : "A share of the executions is sampled, and sums do not say how these differ"} />}
      <Fact name="executions" value={allDrawn(history) ? count(history.executions) : `${count(history.drawn!)} of ${count(history.executions)} sampled`} more={history.failed > 0 ? `${count(history.failed)} failed` : undefined} />
      {losses && <Fact name="lost" value={lost > 0 ? `${count(lost)} samples` : "none"} bad={lost > 0.01 * whole.samples} title="Of the whole host in these hours: which queries lost samples is not known" />}
      {losses && losses.late > 0 && <Fact name="late" value={count(losses.late)} bad />}
      <Damage file={history.file} />
    </aside>
  );
}

function Periods({ history, fingerprint, event, unit }: { history: History; fingerprint: string; event: string; unit: string }) {
  const { periods } = history;
  const label = (begin: number) => (history.by === "hour" ? new Date(begin).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }) : new Date(begin).toISOString().slice(0, 10));
  const find = (key: "a" | "b") => periods.find((each) => String(each.begin_ms) === route.value.state[key]);
  const a = find("a") ?? periods[0];
  const b = find("b") ?? periods[periods.length - 1];
  if (!a || !b || periods.length < 2) return null;
  const rows = differences(a, b, event);
  const [wholeA, wholeB] = [a, b].map((each) => sumOf(linesOf(each, event)).weight);
  const choice = (key: "a" | "b", now: number) => (
    <label>
      {key.toUpperCase()}{" "}
      <select value={String(now)} onChange={(to) => change({ [key]: to.currentTarget.value })}>
        {periods.map((each) => (
          <option key={each.begin_ms} value={String(each.begin_ms)}>
            {label(each.begin_ms)}
          </option>
        ))}
      </select>
    </label>
  );
  // Where nobody knows how many runs some executions are, the cost of one is not known.
  const each = (cost: number, { executions, drawn, elapsed_ns }: HistorySums) => ((drawn ?? executions) > 0 && !elapsed_ns.unknown ? `${amount(cost / (drawn ?? executions), unit)} each` : "cost of each not known");
  return (
    <section class="card" id="card-periods" aria-label="Two periods compared">
      <header>
        <h2>Two periods compared</h2>
        <span class="note">shares with their 95 % intervals; ● the intervals do not overlap</span>
        <span class="tools">
          {choice("a", a.begin_ms)} {choice("b", b.begin_ms)}
        </span>
      </header>
      <p>
        A: {count(a.executions)} executions, {each(wholeA!, a)}, {duration(meanElapsed(a))} long on average. B: {count(b.executions)} executions, {each(wholeB!, b)}, {duration(meanElapsed(b))} long on average.
      </p>
      <DataTable
        caption="Two periods"
        rows={rows}
        columns={[
          { name: "what", value: (row) => clean(row.name, 80) },
          { name: "A", number: true, value: (row) => row.a.share, show: (row) => shareText(row.a) },
          { name: "B", number: true, value: (row) => row.b.share, show: (row) => shareText(row.b) },
          { name: "share B − A", number: true, value: (row) => row.b.share - row.a.share, show: (row) => `${row.significant ? "● " : ""}${points(row.b.share - row.a.share)}` },
          { name: "more than chance", value: (row) => (row.significant === null ? "not known" : row.significant ? "yes" : "no") },
        ]}
      />
      <p class="legend">
        <a href={linkToTimes(fingerprint, timesOfPeriod(a), timesOfPeriod(b))}>The plans of both, operator by operator</a>
      </p>
    </section>
  );
}

const timesOfPeriod = (period: { begin_ms: number; end_ms: number }) => ({ since: String(period.begin_ms), until: String(period.end_ms) });

const shareText = (side: ShareOf) => `${percent(side.share)} (${side.known ? interval(side.low, side.high) : "interval not known"})`;
