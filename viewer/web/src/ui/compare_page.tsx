// Two executions side by side, operators aligned: what each cost in both, and which differences are more than chance. One of
// both may be a report file that the reader opens.
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { type Access, BundleAccess, bundleOf } from "../data/access.ts";
import type { Compare, Profile } from "../data/types.ts";
import { type Compared, type ComparedRow, type ComparedSide, comparePlans } from "../model/compare_plans.ts";
import { amount, count, interval, name as clean, percent, points, rowsText, signed, ticks } from "../model/format.ts";
import { tookText } from "../model/runs.ts";
import { link, route } from "../state/route.ts";
import { useLoad } from "./load.ts";
import { Card, DataTable, Message } from "./parts.tsx";

const words = { matched: "in both", moved: "moved", new: "only in B", gone: "only in A" } as const;

export function ComparePage({ access }: { access: Access }) {
  const { a, b, source } = route.value.state;
  if (a === "file" && b) return <FileComparison access={access} id={b} source={source} />;
  return <Executions access={access} a={a} b={b} source={source} />;
}

function Executions({ access, a, b, source }: { access: Access; a?: string; b?: string; source?: string }) {
  const data = useLoad<Compare>(access, a && b ? "compare" : null, { a, b, source });
  if (!a || !b) return <Message text="Mark an execution in the overview, then choose the one to compare it with." />;
  if (data.error) return <Message kind="error" text={data.error.message} />;
  if (!data.value) return <Message text="Comparing…" />;
  const compare = data.value;
  const compared: Compared = { ...compare, rest: compare.rest.map((row) => ({ ...row, change: "matched" })) };
  const rows = [...compared.operators, ...compared.rest];
  const side = (key: "a" | "b"): SideFacts => {
    const row = compare[key];
    const weight = rows.reduce((sum, each) => sum + (each[key]?.weight ?? 0), 0);
    return { name: row.plan_name, about: row.id.slice(0, 12), href: link("execution", row.id), weight, facts: [`${row.samples.toLocaleString("en")} samples`, ...(row.elapsed_ns === undefined ? [] : [`took ${tookText(row)}`]), rowsText(row.rows)] };
  };
  return <Comparison data={compared} a={side("a")} b={side("b")} unit={compare.source.unit} />;
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
  facts: string[];
}

function Comparison({ data, a, b, unit, tools }: { data: Compared; a: SideFacts; b: SideFacts; unit: string; tools?: ComponentChildren }) {
  const rows = [...data.operators, ...data.rest];
  const costs = rows.every((row) => row.weight_change !== null);
  return (
    <main class="compare" id="main">
      <div class="heading">
        <h1>
          {clean(a.name, 60)} <span class="dim">against</span> {clean(b.name, 60)}
        </h1>
        <span class="badge">{data.same_plan ? "the same plan" : "different plans"}</span>
        {tools && <span class="tools">{tools}</span>}
      </div>
      <div class="two">
        <Side name="A" side={a} unit={unit} />
        <Side name="B" side={b} unit={unit} />
      </div>
      <p class="verdict">
        {costs ? <Cost a={a.weight} b={b.weight} /> : "Shares are compared, and not costs: how often each side ran its plan is not known here. "}
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
              ...(costs ? [{ name: "cost B − A", number: true, value: (row: ComparedRow) => row.weight_change ?? 0, show: (row: ComparedRow) => signed(row.weight_change ?? 0, (size) => amount(size, unit)) }] : []),
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

function verdict(rows: ComparedRow[]): string {
  const significant = rows.filter((row) => row.significant).length;
  if (significant === 0) return "No operator’s share differs by more than chance explains.";
  return `The ${significant === 1 ? "share of 1 row differs" : `shares of ${count(significant)} rows differ`} by more than chance explains.`;
}

function Cost({ a, b }: { a: number; b: number }) {
  const changed = a > 0 ? (b - a) / a : 0;
  return (
    <>
      B cost <b>{changed >= 0 ? `${percent(changed)} more` : `${percent(-changed)} less`}</b> than A.{" "}
    </>
  );
}

const sideText = (side: ComparedSide | null) => (side ? `${percent(side.share)} (${interval(side.share_low, side.share_high)})` : "–");

function Side({ name, side, unit }: { name: string; side: SideFacts; unit: string }) {
  return (
    <section class={`card side ${name}`} aria-label={`Execution ${name}`}>
      <h2>
        <span class="letter">{name}</span> {side.href ? <a href={side.href}>{clean(side.name, 60)}</a> : clean(side.name, 60)} <span class="dim">{side.about}</span>
      </h2>
      <p>
        {amount(side.weight, unit)} sampled · {side.facts.join(" · ")}
      </p>
    </section>
  );
}

function Dumbbells({ rows, unit }: { rows: ComparedRow[]; unit: string }) {
  const top = Math.max(0.01, ...rows.flatMap((row) => [row.a?.share_high ?? 0, row.b?.share_high ?? 0]));
  const at = (share: number) => `${(Math.min(1, share / top) * 100).toFixed(2)}%`;
  const mark = (side: ComparedSide | null, name: string) =>
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
