// What runs now and what ran before: cost by fingerprint and by operator kind, the executions, and the daemon's health.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Access } from "../data/access.ts";
import type { CostOverTime, Execution, Fingerprint, Host, Status } from "../data/types.ts";
import { bytes, count, duration, lines, name as clean, percent, timeOfDay } from "../model/format.ts";
import { costsIn, type QueryCost, spanOf } from "../model/queries.ts";
import { cpuText, isOfShare, meanElapsed, rateText, took, tookText } from "../model/runs.ts";
import { change, go, link, route } from "../state/route.ts";
import { DayCard } from "./day_card.tsx";
import { useKeys } from "./keys.ts";
import { type Loaded, useLoad } from "./load.ts";
import { WaitingCard } from "./locks_card.tsx";
import { Card, Choice, DataTable, Message, RateBadge } from "./parts.tsx";
import { type Series, SeriesSwatch, StackChart } from "./stack_chart.tsx";

// While events come: a new number when something changed, at most every two seconds. `known`: what was heard of the status. A
// profile, and a store without a daemon, have no events, so nobody is asked for these.
function useLive(access: Access, known: Loaded<Status>): { again: number; state: "live" | "down" | "file"; status: Status | null } {
  const [again, setAgain] = useState(0);
  const [state, setState] = useState<"live" | "down" | "file">(access.isFile ? "file" : "live");
  const [status, setStatus] = useState<Status | null>(null);
  const follows = known.error !== null || known.value?.mode === "live";
  useEffect(() => {
    if (!follows) return;
    let waiting = 0;
    const soon = () => {
      if (waiting === 0) {
        waiting = window.setTimeout(() => {
          waiting = 0;
          setAgain((n) => n + 1);
        }, 2000);
      }
    };
    const stop = access.live({
      onStatus: (data) => {
        setStatus(data as Status);
        setState("live");
      },
      onExecution: soon,
      onCost: soon,
      onDown: () => setState("down"),
    });
    return () => {
      stop?.();
      clearTimeout(waiting);
    };
  }, [access, follows]);
  return { again, state, status };
}

export function OverviewPage({ access }: { access: Access }) {
  const loaded = useLoad<Status>(access, "status");
  const live = useLive(access, loaded);
  const status = live.status ?? loaded.value;
  // A profile is shown as a whole. Of a host the charts have the time up to now, and the queries that of the charts.
  const isProfile = access.isFile || (status?.mode === "file" && status.file !== "");
  const asked = status !== null || loaded.error !== null;
  const all = isProfile || route.value.state["queries"] === "all";
  const whole = useLoad<Queries>(access, asked && all ? "fingerprints" : null, {}, live.again);
  const executions = useLoad<{ executions: Execution[] }>(access, "executions", {}, live.again);
  const span = isProfile && !access.isFile && whole.value && executions.value ? spanOf(whole.value.fingerprints, executions.value.executions) : null;
  const ready = asked && (!isProfile || ((whole.value || whole.error) && (executions.value || executions.error)));
  const host = useLoad<Host>(access, ready ? "host" : null, span ?? {}, live.again);
  const seconds = host.value ? Math.round((host.value.to_ms - host.value.from_ms) / 1000) : 0;
  const recent = useLoad<Queries>(access, !all && seconds > 0 ? "fingerprints" : null, { since: `-${seconds}s` }, live.again);
  const chartText = span || access.isFile ? "the time of the executions" : `the last ${duration(seconds * 1e9).replace(".0 ", " ")}`;
  const queries = all ? whole.value : recent.value;
  const costs = queries && costsIn(queries.fingerprints, queries.total_cpu_ns, all ? null : host.value);
  // What the others cost is in no sum.
  const ofShare = queries?.fingerprints.some(isOfShare) ? ", of those that are sampled" : "";
  // A file of samples alone has no executions to choose from.
  const planless = status?.mode === "file" && status.file !== "" && executions.value?.executions.length === 0;
  useEffect(() => {
    if (planless) go({ page: "execution", id: "all", state: {} }, true);
  }, [planless]);
  return (
    <main class="overview" id="main">
      <div class="heading">
        <h1>
          {clean(status?.host ?? "Overview", 60)} <span class="dim">{whatIsShown(access, status, live.state)}</span>
        </h1>
        {status?.mode === "live" && <HealthBadge status={status} />}
      </div>
      {executions.error && <Message kind="error" text={executions.error.message} />}
      {host.value && (
        <div class="two">
          <CostCard id="fingerprints" title="Cost by query" rows={host.value.by_fingerprint} host={host.value} note={`in executions${ofShare}, ${chartText}`} />
          {host.value.by_kind.length > 0 && <CostCard id="kinds" title="Cost by kind of operator" rows={host.value.by_kind} host={host.value} note={`in all samples, ${chartText}`} />}
          {host.value.by_kind_left_out && <Message text={`Kinds of operators are not shown: ${host.value.by_kind_left_out}`} />}
        </div>
      )}
      {status?.mode === "live" && live.state !== "down" && host.value && <WaitingCard access={access} host={host.value} executions={executions.value?.executions ?? []} />}
      {!isProfile && status && <DayCard access={access} now={status.now_ms} />}
      <div class="two uneven">
        <Executions access={access} rows={executions.value?.executions ?? []} running={host.value?.running ?? []} />
        <div>
          {costs && <Fingerprints rows={costs} note={`${isProfile ? "all in this file" : all ? `all that is stored; the charts show ${chartText}` : chartText}${ofShare && "; costs are of the executions that are sampled"}`} choice={isProfile ? null : all ? "all" : "recent"} />}
          {status?.mode === "live" && <HealthCard status={status} />}
        </div>
      </div>
    </main>
  );
}

type Queries = { fingerprints: Fingerprint[]; total_cpu_ns: number };

function whatIsShown(access: Access, status: Status | null, state: "live" | "down" | "file"): string {
  if (access.isFile || status?.mode === "file") return clean(status?.file, 120) || "what is stored";
  return state === "live" ? "live" : "no connection: shown is what was there before";
}

function HealthBadge({ status }: { status: Status }) {
  const bad = status.health.status !== "ok";
  return (
    <span class={`badge ${bad ? "bad" : "good"}`}>
      {bad ? `⚠ ${status.health.status}` : "✓ healthy"}
      {bad && status.health.reasons.length > 0 ? `: ${clean(status.health.reasons.join("; "), 160)}` : ""}
    </span>
  );
}

const isGrey = (key: string) => key === "other" || key.endsWith("component") || key.endsWith("unattributed");

function CostCard({ id, title, rows, host, note }: { id: string; title: string; rows: CostOverTime[]; host: Host; note: string }) {
  const series: Series[] = useMemo(
    () => rows.map((row) => ({ key: row.key, name: clean(row.name, 60), values: row.cpu_ns.map((ns) => ns / (host.bucket_ms * 1e6)), grey: isGrey(row.key), hatched: row.key.endsWith("unattributed") })),
    [rows, host],
  );
  const totals = rows.map((row) => row.cpu_ns.reduce((a, b) => a + b, 0));
  const all = totals.reduce((a, b) => a + b, 0);
  return (
    <Card
      id={id}
      title={title}
      note={`${duration(all)} of CPU time ${note}`}
      table={() => (
        <DataTable
          caption={title}
          rows={rows.map((row, index) => ({ row, total: totals[index]! }))}
          columns={[
            { name: "what", value: ({ row }) => clean(row.name, 80) },
            { name: "CPU time", number: true, value: ({ total }) => total, show: ({ total }) => duration(total) },
            { name: "share", number: true, value: ({ total }) => total, show: ({ total }) => percent(all > 0 ? total / all : 0) },
          ]}
        />
      )}
    >
      {all > 0 ? <StackChart series={series} fromMs={host.from_ms} bucketMs={host.bucket_ms} height={150} unit="CPUs" format={(value) => value.toFixed(2)} label={`${title} over time; the table has the sums`} /> : <Message text="Nothing was sampled in this time." />}
      <p class="legend">
        {series.map((each, index) =>
          totals[index]! > 0 ? (
            <span key={each.key}>
              <SeriesSwatch series={each} index={index} /> {each.key.startsWith("fingerprint:") ? <a href={link("fingerprint", each.key.slice(12))}>{each.name}</a> : each.name} <span class="dim">{percent(totals[index]! / all)}</span>
            </span>
          ) : null,
        )}
      </p>
    </Card>
  );
}

function Executions({ access, rows, running }: { access: Access; rows: Execution[]; running: Execution[] }) {
  const state = route.value.state;
  const input = useRef<HTMLInputElement>(null);
  useKeys((key) => {
    if (key !== "/") return false;
    input.current?.focus();
    return true;
  });
  const wanted = (state["q"] ?? "").toLowerCase();
  const known = new Set(rows.map((row) => row.id));
  const all = [...running.filter((row) => !known.has(row.id)), ...rows];
  const found = all.filter((row) => (state["run"] !== "now" || row.running) && (wanted === "" || `${row.plan_name} ${row.id} ${row.comm ?? ""} ${Object.values(row.labels ?? {}).join(" ")} ${rateText(row)}`.toLowerCase().includes(wanted)));
  const marked = state["mark"] ?? "";
  const begins = found.flatMap((row) => row.began_ms ?? []);
  const span = begins.reduce((a, b) => Math.max(a, b), -Infinity) - begins.reduce((a, b) => Math.min(a, b), Infinity);
  // A file has some executions and comparisons only.
  const compared = (a: string, b: string) => a !== b && access.has("compare", { a, b });
  const comparable = useMemo(() => {
    const ids = all.map((row) => row.id).filter((id) => access.has(`executions/${id}/profile`));
    return new Set(access.isFile ? ids.filter((a) => ids.some((b) => compared(a, b))) : ids);
  }, [access, rows, running]);
  return (
    <section class="card" aria-label="Executions">
      <header>
        <h2>Executions</h2>
        <span class="note">{marked ? "choose the one to compare with" : "newest first"}</span>
        <span class="tools">
          <Choice label="Which" value={state["run"] === "now" ? "now" : "all"} options={[["all", "All"], ["now", "Running"]]} onChange={(to) => change({ run: to === "all" ? null : to })} />
          <input ref={input} type="search" placeholder="Search ( / )" aria-label="Search the executions" value={state["q"] ?? ""} onInput={(event) => change({ q: event.currentTarget.value }, true)} />
        </span>
      </header>
      <DataTable
        caption="Executions"
        rows={found}
        selected={(row) => row.id === marked}
        columns={[
          {
            name: "query",
            value: (row) => row.plan_name,
            show: (row) => (
              <>
                {access.has(`executions/${row.id}/profile`) ? <a href={link("execution", row.id)}>{clean(row.plan_name, 50) || "(no name)"}</a> : <span title="This file has no views of this execution alone">{clean(row.plan_name, 50) || "(no name)"}</span>}{" "}
                <RateBadge row={row} />
              </>
            ),
          },
          { name: "began", value: (row) => row.began_ms ?? 0, show: (row) => (row.began_ms ? timeOfDay(row.began_ms, Math.min(span, 599_999)) : "–") },
          { name: "took", number: true, value: (row) => took(row) || 0, show: (row) => (row.running ? <span class="badge live">running</span> : tookText(row)) },
          { name: "CPU time", number: true, value: (row) => row.cpu_ns, show: cpuText },
          { name: "samples", number: true, value: (row) => row.samples },
          { name: "rows", number: true, value: (row) => row.rows ?? -1, show: (row) => (row.rows === null ? "?" : count(row.rows)) },
          { name: "of", value: (row) => `${row.comm ?? ""} ${row.pid}`, show: (row) => clean(`${row.comm ?? ""} ${row.pid} ${Object.values(row.labels ?? {}).join(" ")}`, 60) },
          {
            name: "compare",
            value: (row) => row.id,
            show: (row) =>
              marked && marked !== row.id ? (
                compared(marked, row.id) && <a href={link("compare", "", { a: marked, b: row.id })}>with this</a>
              ) : comparable.has(row.id) && (
                <button type="button" class="quiet" aria-pressed={marked === row.id} onClick={() => change({ mark: marked === row.id ? null : row.id })}>
                  {marked === row.id ? "marked" : "mark"}
                </button>
              ),
          },
        ]}
      />
    </section>
  );
}

function Fingerprints({ rows, note, choice }: { rows: QueryCost[]; note: string; choice: "all" | "recent" | null }) {
  return (
    <section class="card" aria-label="Queries by cost">
      <header>
        <h2>Queries by cost</h2>
        <span class="note">{note}</span>
        {choice && (
          <span class="tools">
            <Choice label="Time of the queries" value={choice} options={[["recent", "As the charts"], ["all", "All time"]]} onChange={(to) => change({ queries: to === "all" ? "all" : null })} />
          </span>
        )}
      </header>
      <DataTable
        caption="Queries by cost"
        rows={rows}
        columns={[
          { name: "query", value: (row) => row.name, show: (row) => <a href={link("fingerprint", row.fingerprint)} title={lines(row.text, 400)}>{clean(row.name, 40) || row.fingerprint.slice(0, 8)}</a> },
          { name: "CPU time", number: true, value: (row) => row.cost, show: (row) => duration(row.cost) },
          { name: "share", number: true, value: (row) => row.share, show: (row) => percent(row.share) },
          { name: "executions", number: true, value: (row) => row.executions, show: (row) => count(row.executions) },
          { name: "mean", number: true, value: (row) => meanElapsed(row) || 0, show: (row) => duration(meanElapsed(row)) },
        ]}
      />
    </section>
  );
}

function HealthCard({ status }: { status: Status }) {
  const health = status.health;
  const { received, unattributed, lost, late } = health;
  const told = <Value,>(value: Value | undefined, show: (value: Value) => string) => (value === undefined ? "" : show(value));
  const facts: [string, string, boolean?][] = [
    ["samples received", told(received, count)],
    ["attributed", told(health.attributed, count)],
    ["unattributed", told(unattributed, (some) => `${count(some)} (${percent(received ? some / received : 0)})`)],
    ["lost", told(lost, (some) => (some > 0 ? `${count(some)} (${percent(health.lost_share ?? 0)})` : "none")), (lost ?? 0) > 0],
    ["late", told(late, count), (late ?? 0) > 0],
    ["own CPU", told(health.own_cpu_share, percent)],
    ["own memory", told(health.own_memory_bytes, bytes)],
    ["up for", told(status.uptime_ns, duration)],
    ["clock", clean(status.clock_source, 60)],
    ["sampling", clean(status.capture, 160)],
  ];
  return (
    <section class="card" aria-label="Health">
      <header>
        <h2>Health</h2>
        <HealthBadge status={status} />
      </header>
      <dl class="about">
        {facts.filter(([, value]) => value !== "").map(([key, value, bad]) => (
          <div key={key} class={bad ? "bad" : ""}>
            <dt>{key}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <DataTable
        caption="Processes"
        rows={status.processes}
        columns={[
          { name: "process", value: (row) => row.pid, show: (row) => `${clean(row.comm, 30)} ${row.pid}` },
          { name: "engine", value: (row) => clean(row.engine, 40) },
          { name: "sampled", value: (row) => (row.sampled ? "yes" : "no"), show: (row) => (row.sampled ? "yes" : `no: ${clean(row.note, 100)}`) },
        ]}
      />
    </section>
  );
}
