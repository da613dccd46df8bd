// One query over time: its executions, and what its operators cost.
import type { Access } from "../data/access.ts";
import type { Execution, OperatorRow, Query, Runs } from "../data/types.ts";
import { Canvas, type Pen } from "../draw/canvas.tsx";
import { palette } from "../draw/colors.ts";
import { count, duration, lines, name as clean, ticks } from "../model/format.ts";
import { detailOf } from "../model/owners.ts";
import { cpuText, failureOf, meanElapsed, notesOf, runsOf, shareText, took, tookText } from "../model/runs.ts";
import { go, link, route } from "../state/route.ts";
import { theme } from "../state/theme.ts";
import { linkToHalves, timeOf } from "./compare_times.tsx";
import { HistoryCard } from "./history_card.tsx";
import { useLoad } from "./load.ts";
import { Card, DataTable, Message, RateBadge, shareColumns } from "./parts.tsx";

export function FingerprintPage({ access, id }: { access: Access; id: string }) {
  // Links of dashboards bring the time that is shown there.
  const since = timeOf(route.value.state.from);
  const until = timeOf(route.value.state.to);
  const data = useLoad<Query>(access, `fingerprints/${encodeURIComponent(id)}`, { ...(since && { since }), ...(until && { until }), timeout_ms: 60000 });
  if (data.error?.kind === "not_found" && (since || until)) return <NoneThen id={id} since={since} until={until} />;
  if (data.error) return <Message kind="error" text={data.error.message} />;
  if (!data.value) return <Message text="Reading…" />;
  const query = data.value;
  const runs = [...query.executions_list].sort((a, b) => (a.began_ms ?? 0) - (b.began_ms ?? 0));
  const listed = runs.reduce((sum, run) => sum + runsOf(run), 0);
  return (
    <main class="fingerprint" id="main">
      <div class="heading">
        <h1>{clean(query.name, 80)}</h1>
        <span class="dim">
          {query.executions} executions · {duration(query.cpu_ns)} of CPU time{shareText(query)} · {Number.isNaN(meanElapsed(query)) ? "elapsed time not known" : `${duration(query.elapsed_ns.min)} to ${duration(query.elapsed_ns.max)}`}
        </span>
        {(since || until) && (
          <span class="dim">
            {timeText(since, until)} · <a href={link("fingerprint", id)}>all</a>
          </span>
        )}
        <span class="tools">
          {query.last_sampled && <a href={link("execution", query.last_sampled)}>The last run that has samples</a>}{" "}
          {query.first_sampled && query.last_sampled && query.first_sampled !== query.last_sampled && (
            <a href={link("compare", "", { a: query.first_sampled, b: query.last_sampled })} title="Of all runs that have samples">
              Compare the first with the last
            </a>
          )}{" "}
          {query.first_ms < query.last_ms && (
            <a href={linkToHalves(query, { since, until })} title="All runs of two times, operator by operator">
              Compare two times
            </a>
          )}
        </span>
      </div>
      {query.text && <pre class="sql">{lines(query.text)}</pre>}
      <Operators runs={query.runs} />
      <HistoryCard access={access} fingerprint={id} since={since} until={until} />
      <Card
        id="runs"
        title="Its executions"
        note={`${listed < query.executions ? `the newest ${count(listed)} of ${count(query.executions)}: ` : ""}how long each took; a click opens it`}
        table={() => (
          <DataTable
            caption="Executions of this query"
            rows={runs}
            onRow={(row) => go({ page: "execution", id: row.id, state: {} })}
            columns={[
              {
                name: "began",
                value: (row) => row.began_ms ?? 0,
                show: (row) => (
                  <>
                    {row.began_ms ? new Date(row.began_ms).toLocaleString() : "–"} <RateBadge row={row} />
                  </>
                ),
              },
              { name: "took", number: true, value: (row) => took(row) || 0, show: (row) => tookText(row) },
              { name: "CPU time", number: true, value: (row) => row.cpu_ns, show: cpuText },
              { name: "samples", number: true, value: (row) => row.samples },
              { name: "error", value: (row) => clean(failureOf(row), 80) },
            ]}
          />
        )}
      >
        <Runs runs={runs} />
      </Card>
    </main>
  );
}

const timeText = (since?: string, until?: string) => `${since ? ` from ${new Date(Number(since)).toLocaleString()}` : ""}${until ? ` until ${new Date(Number(until)).toLocaleString()}` : ""}`;

// A run that costs something then may have begun before. That is no error.
function NoneThen({ id, since, until }: { id: string; since?: string; until?: string }) {
  return (
    <main class="fingerprint" id="main">
      <p class="message" data-kind="none-then">
        No run of this query began{timeText(since, until)}. <a href={link("fingerprint", id)}>All its runs</a>
      </p>
    </main>
  );
}

// What the operators are of, and what is left out.
function runsText(runs: Runs): string {
  const older = runs.left_out > 0 ? `; ${count(runs.left_out)} others, the older ones, are left out` : "";
  const plans = runs.plans > 1 ? `; the most expensive of ${count(runs.plans)} plans` : "";
  return `${count(runs.samples)} samples of ${count(runs.executions)} runs, in ${count(runs.sampled)} executions with samples${older}${plans}`;
}

const LeftOut = ({ notes }: { notes: string[] | undefined }) => (
  <>
    {notesOf(notes).map((note) => (
      <p key={note} class="dim small">
        {note}
      </p>
    ))}
  </>
);

function Operators({ runs }: { runs: Runs }) {
  return (
    <section class="card" id="card-operators" aria-label="Operators of all runs">
      <header>
        <h2>Operators of all runs</h2>
        <span class="note">{runsText(runs)}</span>
      </header>
      <LeftOut notes={runs.notes} />
      {runs.operators.length === 0 ? (
        <Message text="No run has a sample of an operator: each was shorter than the time between two samples. More runs, or a higher rate, give some." />
      ) : (
        <DataTable
          caption="Operators"
          rows={runs.operators}
          columns={[
            { name: "operator", value: (row) => clean(row.name, 80), show: (row) => <span class="below" style={{ paddingLeft: `${Math.min(20, row.depth) * 10}px` }}>{clean(row.name, 80)}</span> },
            { name: "of", value: (row) => detailOf(row) },
            ...shareColumns<OperatorRow>((row) => ({ share: row.share, low: row.share_low, high: row.share_high, samples: row.samples })),
          ]}
        />
      )}
    </section>
  );
}

function Runs({ runs }: { runs: Execution[] }) {
  const colors = palette(theme.value);
  const height = 160;
  const top = Math.max(1, ...runs.map((run) => took(run) || 0)) * 1.1;
  const xs = (index: number, width: number) => ((index + 0.5) / runs.length) * width;
  const draw = ({ g, width }: Pen) => {
    for (const value of ticks(0, top, 3)) {
      const y = Math.round(height - 6 - (value / top) * (height - 12)) + 0.5;
      g.strokeStyle = colors.grid;
      g.beginPath();
      g.moveTo(0, y);
      g.lineTo(width, y);
      g.stroke();
      g.fillStyle = colors.dim;
      if (value > 0) g.fillText(duration(value), 4, y - 7);
    }
    runs.forEach((run, index) => {
      const elapsed = took(run);
      if (Number.isNaN(elapsed)) return;
      g.fillStyle = failureOf(run) ? colors.unattributed : colors.accent;
      g.beginPath();
      g.arc(xs(index, width), height - 6 - (elapsed / top) * (height - 12), 4, 0, 7);
      g.fill();
    });
  };
  return (
    <Canvas
      draw={draw}
      height={height}
      label="How long each execution took; the table has the numbers"
      onClick={(event: MouseEvent) => {
        const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
        const run = runs[Math.min(runs.length - 1, Math.floor(((event.clientX - box.left) / box.width) * runs.length))];
        if (run) go({ page: "execution", id: run.id, state: {} });
      }}
    />
  );
}
