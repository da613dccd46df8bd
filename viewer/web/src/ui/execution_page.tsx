// One execution, or several seen as one.
import { useMemo } from "preact/hooks";
import type { Access } from "../data/access.ts";
import type { Execution, Iterations, Listing, Memory, Profile, Samples, Source, Threads } from "../data/types.ts";
import { count, duration, lines, name as clean, rowsText } from "../model/format.ts";
import { planKeyOf } from "../model/owners.ts";
import { failureOf, tookText, viewedText } from "../model/runs.ts";
import { change, link, route } from "../state/route.ts";
import { ActivityCard } from "./activity_card.tsx";
import { CodeCard } from "./code_card.tsx";
import { sideOfQuery } from "./compare_times.tsx";
import { Filters } from "./filters.tsx";
import { FlameCard } from "./flame_card.tsx";
import { FunctionsCard, searchOnceOpen } from "./functions_card.tsx";
import { useFunctions } from "./functions_data.ts";
import { chooseIteration, IterationsCard, loopOf } from "./iterations_card.tsx";
import { useKeys } from "./keys.ts";
import { useLater, useLoad } from "./load.ts";
import { HoldersCard } from "./locks_card.tsx";
import { MemoryCard } from "./memory_card.tsx";
import { Base, isPlanless, PageView, readChosen } from "./page_view.ts";
import { mostSamples, type OnDemand, useSamplesOnDemand } from "./part_samples.ts";
import { useCodeOfPart, useElapsedTime, useMemoryOfPart, useThreadsInSight } from "./part_views.ts";
import { Message, RateBadge } from "./parts.tsx";
import { PlanCard } from "./plan_card.tsx";
import { MarksCard, RangeCard } from "./range_card.tsx";
import { RecordingCard } from "./recording_card.tsx";
import { ThreadsCard } from "./threads_card.tsx";
import { Trust } from "./trust.tsx";

const tabs = [
  ["flame", "Flame graph"],
  ["functions", "Functions"],
  ["code", "Code"],
  ["memory", "Memory"],
  ["threads", "Threads"],
  ["iterations", "Iterations"],
  ["about", "Recording"],
] as const;
const patience = 200; // ms until the sums are shown without the samples
type Tab = (typeof tabs)[number][0];
const ofPlans: Tab[] = ["flame", "code", "iterations"]; // without a plan they have nothing to show

export function ExecutionPage({ access, id }: { access: Access; id: string }) {
  const state = route.value.state;
  const source = state["source"];
  const path = `executions/${encodeURIComponent(id)}`;
  const profile = useLoad<Profile>(access, `${path}/profile`, { source });
  // Of all events. A file has them, or says why not.
  const samples = useLoad<Samples>(access, `${path}/samples`, access.isFile ? {} : { many: "slices", timeout_ms: 60000 });
  const waiting = useLater(samples.loading, patience);
  const sources = useLoad<{ sources: Source[] }>(access, `${path}/sources`);
  const row = useLoad<Execution>(access, id === "all" ? null : path);
  const iterations = useLoad<Iterations>(access, `${path}/iterations`);
  const base = useMemo(
    () => (profile.value && (samples.value || samples.error || waiting) ? new Base(profile.value, samples.value) : null),
    [profile.value, samples.value, samples.error, waiting],
  );
  const usual = usualTab(profile.value);
  const offered = usual === "functions" ? tabs.filter(([each]) => !ofPlans.includes(each)) : tabs;
  const tab = offered.find(([each]) => each === state["tab"])?.[0] ?? usual;
  const chosen = readChosen(state);
  const demand = useSamplesOnDemand(access, path, base, chosen);
  const view = useMemo(() => (base ? new PageView(base, chosen, demand.part) : null), [base, JSON.stringify(chosen), demand.part]);
  const main = view?.planKey;
  const isMain = view && view.profile.plans[0] && planKeyOf(view.profile.plans[0]) === main;
  const listing = useLoad<Listing>(access, view ? `${path}/listing` : null, { source, plan: isMain ? undefined : main });
  const functions = useFunctions(access, path, source, view, tab === "functions");
  const part = useCodeOfPart(access, path, view, tab === "code");
  const memoryOfPart = useMemoryOfPart(access, path, view, tab === "memory");
  const memory = useLoad<Memory>(access, view && tab === "memory" ? `${path}/memory` : null, { source, points: access.isFile ? undefined : 1000000 });
  const threads = useLoad<Threads>(access, view && tab === "threads" ? `${path}/threads` : null, { source });
  // Samples of CPU time tell it, and a report file has none of it.
  const hasElapsed = view !== null && view.unit === "ns_on_cpu" && !access.isFile;
  const wantsElapsed = hasElapsed && state["of"] === "elapsed";
  const elapsed = useElapsedTime(access, path, view, wantsElapsed);
  const threadsInSight = useThreadsInSight(access, path, view, threads.value);
  const texts = useMemo(() => {
    const plan = listing.value?.plan_key ?? main ?? "";
    return new Map((listing.value?.lines ?? []).map((line) => [`${plan}:${line.line}`, line.text]));
  }, [listing.value, main]);

  const loop = loopOf(iterations.value);
  useKeys((key) => {
    if ((key === "[" || key === "]") && loop) {
      const now = loop.iterations.findIndex((each) => each.number === chosen.iteration);
      const next = loop.iterations[now < 0 ? (key === "]" ? 0 : loop.iterations.length - 1) : now + (key === "]" ? 1 : -1)];
      if (next) chooseIteration(next);
      return true;
    }
    if (key === "/") {
      searchOnceOpen();
      openTab("functions", usual);
      return true;
    }
    const number = Number(key);
    const wanted = Number.isInteger(number) && number > 0 ? offered[number - 1] : undefined;
    if (wanted) openTab(wanted[0], usual);
    return wanted !== undefined;
  });

  if (profile.error && row.value && row.value.samples === 0) return <NoSamples access={access} row={row.value} />;
  if (profile.error && !row.loading) return <Message kind="error" text={profile.error.message} />;
  if (!view) return <Message text="Reading the profile…" />;
  return (
    <main class="execution" id="main">
      <div class="heading">
        <h1>
          {clean(view.plan?.name ?? (view.profile.recording?.command || "No plan"), 80)} <span class="dim">{id === "all" ? (isPlanless(view.profile) ? "all samples" : "all executions") : (row.value?.id ?? id).slice(0, 12)}</span>
        </h1>
        {row.value && <Facts row={row.value} />}
        <span class="tools">
          {row.value && <AllRuns access={access} row={row.value} />}{" "}
          {view.plan && (
            <a href={link("compare", "", { a: "file", b: id === "last" ? (row.value?.id ?? id) : id, ...(source && { source }) })} title="The plan beside that of a report file, operator by operator">
              Compare with a file
            </a>
          )}{" "}
          {view.plan && row.value?.fingerprint && !access.isFile && (
            <a href={link("compare", "", { a: sideOfQuery(row.value.fingerprint), b: row.value.id, ...(source && { source }) })} title="All runs of its query, and this one, operator by operator">
              Compare with all runs
            </a>
          )}{" "}
          {view.profile.plans.length > 1 && (
            <label>
              Plan{" "}
              <select value={view.planKey} onChange={(event) => change({ plan: event.currentTarget.value, op: null, pipe: null, line: null, zoom: null })}>
                {view.profile.plans.map((plan) => (
                  <option key={planKeyOf(plan)} value={planKeyOf(plan)}>
                    {clean(plan.name, 40)}
                  </option>
                ))}
              </select>
            </label>
          )}
          <SourceChoice sources={sources.value?.sources ?? [view.profile.source, ...view.profile.other_sources]} now={view.profile.source.name} has={(source) => access.has(`${path}/profile`, { source })} />
        </span>
      </div>
      <div class="sticky">
        <Trust view={view} />
        <Filters view={view} />
      </div>
      <ViewOfText profile={view.profile} />
      {!base!.table && samples.loading && <Message text="The sums are here. Views over time follow: reading the samples…" />}
      {!base!.table && !samples.loading && <Message text={`The samples of this view are not here one by one (${samples.error?.message ?? "too many"}), so time cannot be brushed. The sums are exact.`} />}
      {!!base!.table?.slice && <p class="sliced dim">{slicedText(base!, demand, samples.value?.total ?? 0, access.isFile)}</p>}
      <div class={view.plan ? "columns" : "columns planless"}>
        <div class="left">
          <PlanCard view={view} elapsed={hasElapsed ? { wanted: wantsElapsed, answer: elapsed } : null} />
        </div>
        <div class="right">
          <ActivityCard access={access} path={path} view={view} />
          <RangeCard view={view} />
          <MarksCard view={view} />
          {row.value && <HoldersCard access={access} row={row.value} />}
          <div class="tabs" role="tablist" aria-label="Details">
            {offered.map(([key, text], index) => (
              <button type="button" role="tab" key={key} id={`tab-${key}`} aria-selected={key === tab} aria-controls="details" title={`Key ${index + 1}`} onClick={() => openTab(key, usual)}>
                {text}
              </button>
            ))}
          </div>
          <div id="details" role="tabpanel" aria-labelledby={`tab-${tab}`}>
            {tab === "flame" && <FlameCard access={access} path={path} view={view} lines={texts} elapsed={hasElapsed ? wantsElapsed : null} />}
            {tab === "functions" && <FunctionsCard access={access} id={id === "last" ? (row.value?.id ?? id) : id} view={view} shown={functions} />}
            {tab === "code" && <CodeCard view={view} listing={listing} part={part} />}
            {tab === "memory" && <MemoryCard view={view} memory={memory} part={memoryOfPart} />}
            {tab === "threads" && <ThreadsCard view={view} threads={threads} inSight={threadsInSight} />}
            {tab === "iterations" && <IterationsCard view={view} iterations={iterations} />}
            {tab === "about" && <RecordingCard profile={view.profile} />}
          </div>
        </div>
      </div>
    </main>
  );
}

// What is shown where nobody chose a tab: a profile without a plan has functions, and no operators.
function usualTab(profile: Profile | null): Tab {
  return profile && isPlanless(profile) ? "functions" : "flame";
}

// Its details come into sight, if they lie below.
function openTab(tab: Tab, usual: Tab) {
  change({ tab: tab === usual ? null : tab });
  requestAnimationFrame(() => {
    const details = document.getElementById("details");
    if (details && details.getBoundingClientRect().top > window.innerHeight - 120) details.scrollIntoView({ block: "start" });
  });
}

// Of which executions all of this is, and what was left out.
function ViewOfText({ profile }: { profile: Profile }) {
  const text = viewedText(profile.view ?? {});
  return text === "" ? null : <p class="dim viewed">{text}</p>;
}

function Facts({ row }: { row: Execution }) {
  return (
    <span class="facts dim">
      {row.elapsed_ns !== undefined && `took ${tookText(row)}`} · {rowsText(row.rows)}{failureOf(row) ? ` · failed: ${clean(failureOf(row), 100)}` : ""} <RateBadge row={row} />
      {Object.entries(row.labels ?? {}).map(([key, value]) => (
        <span key={key} class="label" title={lines(value)}>
          {clean(key, 30)}: {clean(value, 60)}
        </span>
      ))}
    </span>
  );
}

// From a run to all runs of its query; of a file that has none of these, to all that is in it.
function AllRuns({ access, row }: { access: Access; row: Execution }) {
  if (row.fingerprint && access.has(`fingerprints/${encodeURIComponent(row.fingerprint)}`)) return <a href={link("fingerprint", row.fingerprint)}>All runs of this query</a>;
  return access.has("executions/all/profile") && access.isFile ? <a href={link("execution", "all")}>All executions</a> : null;
}

// Most runs that are shorter than the time between two samples have none. That is no error.
function NoSamples({ access, row }: { access: Access; row: Execution }) {
  return (
    <main class="execution" id="main">
      <div class="heading">
        <h1>
          {clean(row.plan_name || "No plan", 80)} <span class="dim">{row.id.slice(0, 12)}</span>
        </h1>
        <Facts row={row} />
      </div>
      <p class="message" data-kind="no-samples">
        This run has no sample{row.drawn === false ? ": a share of the executions is sampled, and it is not among them" : row.running ? " yet" : ": it was shorter than the time between two samples, or none fell into it"}. All runs together have some: <AllRuns access={access} row={row} />
      </p>
      <HoldersCard access={access} row={row} />
    </main>
  );
}

function slicedText(base: Base, { part, state }: OnDemand, total: number, isFile: boolean): string {
  if (part) return `The ${count(part.table.time.length)} samples of ${duration(part.from)} to ${duration(part.to)} are here one by one, of ${count(total)}. Over other times they are added up in slices of ${duration(base.table!.slice)}.`;
  const text = `${count(total)} samples, added up over slices of ${duration(base.table!.slice)}: a chosen time consists of whole slices. They do not say which thread it was.`;
  if (isFile) return text;
  if (state === "loading") return `${text} Reading the samples of the chosen time…`;
  if (state === "failed") return `${text} The samples of the chosen time could not be read.`;
  return `${text} Of a chosen time with at most ${count(mostSamples)} samples the page gets these one by one.`;
}

function SourceChoice({ sources, now, has }: { sources: Source[]; now: string; has: (source: string) => boolean }) {
  const names = [...new Set([now, ...sources.map((each) => each.name)])];
  return (
    <label>
      Event{" "}
      <select value={now} onChange={(event) => change({ source: event.currentTarget.value, from: null, to: null, left: null, right: null })}>
        {names.map((each) => (
          <option key={each} value={each} disabled={each !== now && !has(each)}>
            {clean(each, 60)}
            {each !== now && !has(each) ? " (not in this file)" : ""}
          </option>
        ))}
      </select>
    </label>
  );
}
