// Two sides beside each other, operators aligned: what each cost in both, and which differences are more than chance. A side is
// an execution, or all runs of a query that began in a time. One of both may be a report file that the reader opens.
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { type Access, BundleAccess, bundleOf } from "../data/access.ts";
import type { Compare, CompareRest, CompareRow, FileState, Growth, Profile } from "../data/types.ts";
import { type Compared, type ComparedRow, type ComparedSide, comparePlans } from "../model/compare_plans.ts";
import { amount, count, interval, name as clean, percent, points, rowsText, signed, ticks } from "../model/format.ts";
import { tookText } from "../model/runs.ts";
import { link, route } from "../state/route.ts";
import { linkToQuery, queryOf, type SideName, TimeInputs, TimesAlone, timesOf, timesText } from "./compare_times.tsx";
import { useLoad } from "./load.ts";
import { Card, DataTable, Message } from "./parts.tsx";
import { Damage } from "./trust.tsx";

const words = { matched: "in both", moved: "moved", new: "only in B", gone: "only in A" } as const;

export function ComparePage({ access }: { access: Access }) {
  const { a, b, source } = route.value.state;
  if (a === "file" && b) return <FileComparison access={access} id={b} source={source} />;
  return <Sides access={access} a={a} b={b} source={source} />;
}

function Sides({ access, a, b, source }: { access: Access; a?: string; b?: string; source?: string }) {
  const queries = { a: queryOf(a), b: queryOf(b) };
  const ofQueries = (["a", "b"] as const).filter((side) => queries[side] !== "");
  const times: Record<string, string | undefined> = {};
  for (const side of ofQueries) {
    const { since, until } = timesOf(side);
    times[`${side}_since`] = since;
    times[`${side}_until`] = until;
  }
  const patience = ofQueries.length > 0 ? { timeout_ms: 60000 } : {}; // many runs are read
  const data = useLoad<Compare>(access, a && b ? "compare" : null, { a, b, source, ...times, ...patience });
  if (!a || !b) return <Message text="Mark an execution in the overview, then choose the one to compare it with." />;
  if (data.value) return <Answer compare={data.value} queries={queries} />;
  const said = data.error ? <Message kind="error" text={data.error.message} /> : <Message text="Comparing…" />;
  if (ofQueries.length === 0) return said;
  return (
    <main class="compare" id="main">
      <TimesAlone sides={ofQueries} />
      {said}
    </main>
  );
}

// The change of what one execution costs: a side may be of many. `executions` null: nobody knows of how many.
function changeOfOne(row: CompareRow | CompareRest, executions: Record<SideName, number> | null): number | null {
  return executions && (row.b?.weight ?? 0) / executions.b - (row.a?.weight ?? 0) / executions.a;
}

function Answer({ compare, queries }: { compare: Compare; queries: Record<SideName, string> }) {
  const executions = { a: Math.max(1, compare.executions?.a ?? 1), b: Math.max(1, compare.executions?.b ?? 1) };
  const known = compare.runs_unknown ? null : executions;
  const compared: Compared = {
    same_plan: compare.same_plan,
    operators: compare.operators.map((row) => ({ ...row, weight_change: changeOfOne(row, known) })),
    rest: compare.rest.map((row) => ({ ...row, weight_change: changeOfOne(row, known), change: "matched" as const })),
  };
  const rows = [...compared.operators, ...compared.rest];
  const side = (key: SideName): SideFacts => {
    const row = compare[key];
    const weight = rows.reduce((sum, each) => sum + (each[key]?.weight ?? 0), 0);
    const about = { weight, executions: executions[key], file: compare.file?.[key] };
    if (queries[key] === "") return { ...about, name: row.plan_name, about: row.id.slice(0, 12), href: link("execution", row.id), facts: [`${row.samples.toLocaleString("en")} samples`, ...(row.elapsed_ns === undefined ? [] : [`took ${tookText(row)}`]), rowsText(row.rows)] };
    const samples = rows.reduce((sum, each) => sum + (each[key]?.samples ?? 0), 0);
    return { ...about, name: compare.sums ? `Query ${queries[key].slice(0, 12)}` : row.plan_name, about: timesText(timesOf(key)), href: linkToQuery(queries[key], timesOf(key)), timesOf: key, facts: [`${Math.round(samples).toLocaleString("en")} samples`, ...runsFacts(compare, key, executions[key])] };
  };
  return <Comparison data={compared} a={side("a")} b={side("b")} unit={compare.source.unit} growth={compare.growth} note={compare.sums ? "Samples of some of that time are deleted. These are sums of whole hours (UTC), or of whole days where they are old, with all plans of each query." : undefined} />;
}

// How many runs a query's side is of, and what is left out of it or missing.
function runsFacts(compare: Compare, key: SideName, executions: number): string[] {
  const runs = compare.runs?.[key];
  const [older, others, unknown] = [runs?.left_out ?? 0, runs?.other_plans ?? 0, runs?.runs_unknown ?? 0];
  const missing = compare.unwritten?.[key] ?? 0;
  return [
    `${count(executions)} execution${executions === 1 ? "" : "s"}`,
    ...(older > 0 ? [`${count(older)} older ones are left out`] : []),
    ...(others > 0 ? [`${count(others)} with other plans are left out`] : []),
    ...(unknown > 0 ? [`${count(unknown)} of runs that were added up, not known how many, are left out`] : []),
    ...(runs?.notes ?? []).map((note) => clean(note, 200)),
    ...(missing > 0 ? [`${count(missing)} samples of the host are missing`] : []),
  ];
}

interface Opened {
  name: string;
  id: string;
  profile: Profile | null;
  error: string;
}

// The profile that a report file shows first: of the same event if it has that, else of its own.
async function openProfile(file: File, source: string): Promise<Opened> {
  const name = clean(file.name, 60);
  try {
    const access = new BundleAccess(await bundleOf(await file.text()));
    const path = `executions/${access.firstId}/profile`;
    const profile = await access.get<Profile>(path, access.has(path, { source }) ? { source } : {});
    return { name, id: access.firstId, profile, error: "" };
  } catch (error) {
    return { name, id: "", profile: null, error: `${name} cannot be compared with: ${clean(error instanceof Error ? error.message : error, 200)}` };
  }
}

const plansName = (profile: Profile) => clean(profile.plans[0]?.name ?? (profile.recording.command || "No plan"), 60);

// A is the file, which is what was before; B is what this page shows.
function FileComparison({ access, id, source }: { access: Access; id: string; source?: string }) {
  const [file, setFile] = useState<Opened | null>(null);
  const own = useLoad<Profile>(access, `executions/${encodeURIComponent(id)}/profile`, { source });
  const other = file?.profile ?? null;
  const compared = useMemo(() => (own.value && other ? comparePlans(other, own.value) : null), [own.value, other]);
  if (own.error) return <Message kind="error" text={own.error.message} />;
  if (!own.value) return <Message text="Reading the profile…" />;
  const here = own.value;
  const facts = (profile: Profile) => [`${profile.samples.toLocaleString("en")} samples`, clean(profile.source.name, 40)];
  // Two counters of hardware have one unit, and are not the same.
  const eventsDiffer = other !== null && (other.source.unit !== here.source.unit || (here.source.unit === "events" && other.source.name !== here.source.name));
  const chooser = <ReportFile name={file?.name ?? ""} open={(picked) => void openProfile(picked, here.source.name).then(setFile)} />;
  if (!compared || !other || !file || eventsDiffer || here.plans.length === 0 || other.plans.length === 0) {
    return (
      <main class="compare" id="main">
        <div class="heading">
          <h1>
            {plansName(here)} <span class="dim">against a report file</span>
          </h1>
          <span class="tools">{chooser}</span>
        </div>
        {file?.error ? <Message kind="error" text={file.error} /> : <p class="message">{whyNothing(here, other)}</p>}
      </main>
    );
  }
  return (
    <Comparison
      data={compared}
      a={{ name: plansName(other), about: `${file.name}${file.id === "all" ? ", all executions" : ""}`, weight: other.weight, facts: facts(other) }}
      b={{ name: plansName(here), about: id === "all" ? "all executions" : id.slice(0, 12), href: link("execution", id), weight: here.weight, facts: facts(here) }}
      unit={here.source.unit}
      tools={chooser}
    />
  );
}

function whyNothing(here: Profile, other: Profile | null): string {
  if (here.plans.length === 0) return "This profile has no plan. The tab Functions compares the functions of two profiles.";
  if (!other) return "Open a report file (tailor report --html) from your disk: this page compares its plan with this one, operator by operator. The file stays on your machine, and is not part of the link.";
  if (other.plans.length === 0) return "That file has no plan. The tab Functions compares the functions of two profiles.";
  return `The file has ${clean(other.source.name, 40)} and this page ${clean(here.source.name, 40)}: these are different events, so they cannot be compared.`;
}

function ReportFile({ name, open }: { name: string; open: (file: File) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" onClick={() => input.current?.click()}>
        {name === "" ? "Open a report file…" : "Another report file…"}
      </button>
      <input
        ref={input}
        class="hidden"
        type="file"
        tabIndex={-1}
        aria-label="A report file to compare with"
        accept=".html,.json"
        onChange={(event) => {
          const picked = event.currentTarget.files?.[0];
          event.currentTarget.value = "";
          if (picked) open(picked);
        }}
      />
    </>
  );
}

interface SideFacts {
  name: string;
  about: string;
  href?: string;
  weight: number;
  executions?: number; // that the weight is of; else one
  file?: FileState;
  timesOf?: SideName; // its time can be chosen
  facts: string[];
}

function Comparison({ data, a, b, unit, tools, note, growth }: { data: Compared; a: SideFacts; b: SideFacts; unit: string; tools?: ComponentChildren; note?: string; growth?: Growth | null }) {
  const rows = [...data.operators, ...data.rest];
  const costs = rows.every((row) => row.weight_change !== null);
  const many = (a.executions ?? 1) > 1 || (b.executions ?? 1) > 1;
  const known = rows.every((row) => row.significant !== null); // what is more than chance
  return (
    <main class="compare" id="main">
      <div class="heading">
        <h1>
          {clean(a.name, 60)} <span class="dim">against</span> {clean(b.name, 60)}
        </h1>
        <span class="badge">{data.same_plan === null ? "plans not known" : data.same_plan ? "the same plan" : "different plans"}</span>
        {tools && <span class="tools">{tools}</span>}
      </div>
      <div class="two">
        <Side name="A" side={a} unit={unit} />
        <Side name="B" side={b} unit={unit} />
      </div>
      {note && (
        <p class="message" data-kind="sums">
          {note}
        </p>
      )}
      <p class="verdict">
        {costs ? known && <Cost a={a} b={b} many={many} growth={growth} /> : "Shares are compared, and not costs: how often each side ran its plan is not known. "}
        {verdict(rows)}
      </p>
      <Card
        id="compare"
        title="Operators"
        note="share of each side, with its 95 % interval; ● the intervals do not overlap"
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
              ...(costs ? [{ name: many ? "cost of a run, B − A" : "cost B − A", number: true, value: (row: ComparedRow) => row.weight_change ?? 0, show: (row: ComparedRow) => `${signed(row.weight_change ?? 0, (size) => amount(size, unit))}${growthText(row.growth)}` }] : []),
              { name: "more than chance", value: (row) => (row.significant === null ? "not known" : row.significant ? "yes" : "no") },
            ]}
          />
        )}
      >
        <Dumbbells rows={rows} unit={unit} />
      </Card>
    </main>
  );
}

function verdict(rows: ComparedRow[]): string {
  if (rows.some((row) => row.significant === null)) return "Whether costs and shares differ by more than chance is not known: an older version made some of the sums, or a share of the executions was sampled.";
  const significant = rows.filter((row) => row.significant).length;
  if (significant === 0) return "No operator’s share differs by more than chance explains.";
  return `The ${significant === 1 ? "share of 1 row differs" : `shares of ${count(significant)} rows differ`} by more than chance explains.`;
}

// The 95 % interval of a change; "" of older programs, which do not say it.
function growthText(growth: Growth | null | undefined): string {
  if (growth === null) return " (interval not known)";
  return growth ? ` (${signed(growth.low - 1, percent)} to ${signed(growth.high - 1, percent)})` : "";
}

function Cost({ a, b, many, growth }: { a: SideFacts; b: SideFacts; many: boolean; growth?: Growth | null }) {
  if (growth === null) return <>How much the cost changed is not known: there are too few samples. </>;
  const [before, now] = [a, b].map((side) => side.weight / (side.executions ?? 1)) as [number, number];
  const changed = before > 0 ? (now - before) / before : 0;
  const chance = growth && growth.low <= 1 && growth.high >= 1 ? ", no more than chance explains" : "";
  return (
    <>
      {many ? "An execution of B" : "B"} cost <b>{changed >= 0 ? `${percent(changed)} more` : `${percent(-changed)} less`}</b> than A{growthText(growth)}{chance}.{" "}
    </>
  );
}

// The ends of the interval; null where it is not known.
const ends = (side: ComparedSide) => (side.share_low === null || side.share_high === null ? null : ([side.share_low, side.share_high] as const));

function sideText(side: ComparedSide | null): string {
  if (!side) return "–";
  const known = ends(side);
  return `${percent(side.share)} (${known ? interval(...known) : "interval not known"})`;
}

function Side({ name, side, unit }: { name: string; side: SideFacts; unit: string }) {
  return (
    <section class={`card side ${name}`} aria-label={`Execution ${name}`}>
      <h2>
        <span class="letter">{name}</span> {side.href ? <a href={side.href}>{clean(side.name, 60)}</a> : clean(side.name, 60)} <span class="dim">{side.about}</span>
      </h2>
      <p>
        {amount(side.weight, unit)} sampled · {side.facts.join(" · ")} <Damage file={side.file} />
      </p>
      {side.timesOf && <TimeInputs side={side.timesOf} />}
    </section>
  );
}

function Dumbbells({ rows, unit }: { rows: ComparedRow[]; unit: string }) {
  const farthest = (side: ComparedSide | null) => (side ? (side.share_high ?? side.share) : 0);
  const top = Math.max(0.01, ...rows.flatMap((row) => [farthest(row.a), farthest(row.b)]));
  const at = (share: number) => `${(Math.min(1, share / top) * 100).toFixed(2)}%`;
  const mark = (side: ComparedSide | null, name: string) => {
    if (!side) return null;
    const known = ends(side);
    return (
      <>
        {known && <span class={`ci ${name}`} style={{ left: at(known[0]), width: `calc(${at(known[1])} - ${at(known[0])})` }} />}
        <span class={`dot ${name}`} style={{ left: at(side.share) }}>
          {name}
        </span>
      </>
    );
  };
  const marks = ticks(0, top, 8);
  const grid = marks.map((share) => <i key={share} class="mark" style={{ left: at(share) }} />);
  return (
    <div class="dumbbells">
      <div class="dumbbell scale" aria-hidden="true">
        <span class="dim">share of the side</span>
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
            {points(row.share_change)} {row.weight_change !== null && <span class="dim">{signed(row.weight_change, (size) => amount(size, unit))}</span>}
          </span>
        </div>
      ))}
    </div>
  );
}
