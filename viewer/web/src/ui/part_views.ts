// Views of the chosen part, where a server can be asked for them.
import { useMemo } from "preact/hooks";
import type { Access, Parameters } from "../data/access.ts";
import type { Flame, Listing, Memory, Profile, Threads, Timeline } from "../data/types.ts";
import { planOfPipeline } from "../model/owners.ts";
import { hull, type Range } from "../model/sight.ts";
import { mostMarks } from "../model/waits.ts";
import type { WorkersLane } from "../model/workers.ts";
import { type Loaded, useLoad, useSettled } from "./load.ts";
import type { PageView } from "./page_view.ts";
import { mostSamples } from "./part_samples.ts";

const patience = 250; // ms without a change, while somebody drags
// Samples of a view that a server reads one by one for a lane of all of it, and for one of a time with few of them. Of more it
// would take too much memory.
const mostForLane = 500_000;
const mostForPart = 2_000_000;

// Null: there is nothing to ask for.
function useOfPart<T>(access: Access, path: string, parameters: Parameters | null): Loaded<T> | null {
  const settled = useSettled(parameters, patience);
  const asked = parameters && settled;
  const answer = useLoad<T>(access, asked ? path : null, asked ?? {});
  if (!parameters) return null;
  return JSON.stringify(settled) === JSON.stringify(parameters) ? answer : { value: null, error: null, loading: true };
}

export function parametersOf({ filter, profile }: PageView): Parameters {
  const { from, to, tid, pipeline } = filter;
  return {
    source: profile.source.name,
    from_ns: Number.isFinite(from) ? Math.floor(from) : undefined,
    to_ns: Number.isFinite(to) ? Math.ceil(to) : undefined,
    thread: tid ?? undefined,
    pipeline: pipeline?.split(":").pop(),
    plan: planOfPipeline(pipeline ?? "") || undefined,
    timeout_ms: 60000,
  };
}

// What the chosen part costs by instruction. The lines' costs need no server.
export function useCodeOfPart(access: Access, path: string, view: PageView | null, wanted: boolean): Loaded<Listing> | null {
  const ask = wanted && view?.isPart && !access.isFile ? view : null;
  return useOfPart(access, `${path}/listing`, ask && { ...parametersOf(ask), plan: ask.planKey });
}

// The elapsed time of the chosen time, divided among what worked. No thread or pipeline can be chosen there.
function ofElapsed(view: PageView): Parameters {
  const { source, from_ns, to_ns } = parametersOf(view);
  return { of: "elapsed", source, from_ns, to_ns, timeout_ms: 60000 };
}

export function useElapsedTime(access: Access, path: string, view: PageView | null, wanted: boolean): Loaded<Profile> | null {
  return useOfPart(access, `${path}/profile`, wanted && view ? ofElapsed(view) : null);
}

// The same as a tree of these levels.
export function useElapsedFlame(access: Access, path: string, view: PageView, wanted: boolean, levels: string[]): Loaded<Flame> | null {
  return useOfPart(access, `${path}/flame`, wanted ? { ...ofElapsed(view), order: levels.join(",") } : null);
}

// The accesses of the chosen part: their sums, and more of its points where the whole has too many.
export function useMemoryOfPart(access: Access, path: string, view: PageView | null, wanted: boolean): Loaded<Memory> | null {
  const ask = wanted && view?.isPart && !access.isFile ? view : null;
  return useOfPart(access, `${path}/memory`, ask && { ...parametersOf(ask), points: 1000000 });
}

// Who worked at each moment of a time, in equal parts, where the page has sums over slices that do not say it.
export function useWorkersOfSlices(access: Access, path: string, view: PageView, { from, to }: Range, buckets: number): WorkersLane | null {
  const table = view.base.table;
  const isKnown = !!table?.slice && !access.isFile && view.unit === "ns_on_cpu" && !view.profile.recording?.aggregated_ns;
  const all = isKnown ? table.samplesWithin(-Infinity, Infinity) : 0;
  const few = isKnown && (all <= mostForLane || (all <= mostForPart && table.samplesWithin(from, to) <= mostSamples));
  const time = { from_ns: Math.floor(from), to_ns: Math.ceil(to) };
  const workers = useOfPart<Timeline>(access, `${path}/timeline`, few ? { ...parametersOf(view), ...time, lanes: "all", buckets } : null)?.value?.workers;
  return useMemo(() => (workers ? { threads: workers.threads, working: Float64Array.from(workers.working), waiting: workers.waiting && Float64Array.from(workers.waiting) } : null), [workers]);
}

const clamped = (range: Range, time: Range): Range => ({ from: Math.max(range.from, time.from), to: Math.min(range.to, time.to) });

// What threads did in the time that charts show, where the answer about all of it has left some out.
export function useThreadsInSight(access: Access, path: string, view: PageView | null, whole: Threads | null): Loaded<Threads> | null {
  const isCut = whole?.threads.some((row) => row.marks_total > row.marks.length || row.off_cpu.length >= mostMarks) ?? false;
  const ask = isCut && view?.isZoomed && !access.isFile ? view : null;
  const sight = ask?.sight ?? { from: 0, to: 0 };
  const { from, to } = ask?.range && ask.time ? clamped(hull(sight, ask.range), ask.time) : sight;
  return useOfPart(access, `${path}/threads`, ask && { source: ask.profile.source.name, from_ns: Math.floor(from), to_ns: Math.ceil(to), timeout_ms: 60000 });
}
