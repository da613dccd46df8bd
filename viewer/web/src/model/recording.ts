// What is known of a recording, in words and units. What a newer program says besides is shown too, by its name.
import type { Profile } from "../data/types.ts";
import { bytes, count, duration, name as clean, percent } from "./format.ts";

export interface Fact {
  name: string;
  value: string;
  bad?: boolean;
}
export interface Facts {
  title: string;
  facts: Fact[];
}

type Show = (value: unknown) => string;
type Words = Record<string, [name: string, show?: Show]>;

const number = (value: unknown) => (typeof value === "number" ? value : Number.NaN);
const many: Show = (value) => (number(value) === 0 ? "none" : number(value).toLocaleString("en"));
const times: Show = (value) => (number(value) === 0 ? "never" : `${number(value).toLocaleString("en")} times`);
const long: Show = (value) => (number(value) === 0 ? "none" : duration(number(value)));
const known: Show = (value) => (number(value) === 0 ? "not known" : duration(number(value)));
const part: Show = (value) => (number(value) === 0 ? "none" : percent(number(value)));
const text: Show = (value) => clean(value, 400) || "–";
const yes: Show = (value) => (value === true ? "yes" : "no");
const list: Show = (value) => (Array.isArray(value) && value.length > 0 ? `${value.length} times` : "never");

// By its name, whatever it is.
function show(key: string, value: unknown): string {
  if (Array.isArray(value)) return list(value);
  if (typeof value === "boolean") return yes(value);
  if (typeof value !== "number") return text(value);
  if (key.endsWith("_ns")) return long(value);
  if (key.endsWith("_bytes")) return bytes(value);
  return key.endsWith("_share") ? part(value) : value.toLocaleString("en");
}

const began: Show = (value) => (number(value) > 0 ? new Date(number(value) / 1e6).toLocaleString() : "not known");

const place: Words = {
  host: ["host"],
  kernel: ["kernel"],
  cpus: ["CPUs", (value) => count(number(value))],
  command: ["command"],
  wall_clock_ns: ["began", began],
  daemon_version: ["version of Tailor"],
};

const means: Words = {
  capture: ["how"],
  clock_source: ["clock"],
  clock_error_ns: ["error of the clock", (value) => `at most ±${duration(number(value))}`],
  kernel_sampled: ["kernel mode too", yes],
  aggregated_ns: ["added up in the kernel over", (value) => (number(value) === 0 ? "nothing: each sample alone" : duration(number(value)))],
  executions_drawn_share: ["executions sampled", (value) => (number(value) >= 1 ? "all" : percent(number(value)))],
  pauses: ["paused", list],
  rates: ["rate changed", list],
};

const costs: Words = {
  cpu_used_ns: ["CPU time of the processes, by the kernel", known],
  cpu_sampled_ns: ["CPU time that the samples stand for", long],
  kernel_unsampled_ns: ["CPU time in kernel mode without samples", long],
  own_cpu_ns: ["CPU time of the recorder", long],
  steal_ns: ["CPU time that the hypervisor gave to others", long],
};

const samples: Words = {
  received: ["received", many],
  attributed: ["attributed", many],
  unattributed: ["unattributed", many],
  filtered: ["of other processes", many],
  late: ["too late to be attributed", many],
  counted_by_other: ["counted by another event", many],
  not_drawn: ["of executions that are not drawn", many],
  not_drawn_ns: ["their CPU time", long],
  executions_unknown: ["without a known execution", many],
  slot_states: ["that say for whom their thread works", many],
  slots_missing: ["of threads that have no slot for it", many],
  slots_unread: ["whose slot could not be read", many],
  stacks_walked: ["whose stack was unwound", many],
  stacks_without_begin_share: ["stacks without a begin, of all samples", part],
  stacks_begin: ["stacks that lead to the begin of a thread", many],
  stacks_known: ["stacks unwound until the owner was known", many],
  stacks_no_rule: ["no rule for the address", many],
  stacks_generated: ["generated code without a table", many],
  stacks_no_file: ["no file at the address", many],
  stacks_short: ["stacks longer than their copy", many],
  stacks_nonsense: ["rules that make no sense there", many],
  stacks_unread: ["files not read in time", many],
  stacks_work: ["tables that cost too much to follow", many],
  stacks_frames: ["more callers than a sample may have", many],
  events_forced: ["attributed early", many],
  waits_abandoned: ["waits without a known end", many],
};

const losses: Words = {
  lost_share: ["lost, of all", part],
  lost_ring: ["lost in full rings", many],
  lost_hardware: ["lost by the hardware", many],
  unwritten_samples: ["attributed but not written", many],
  removed_samples: ["removed, beyond their user's share of the disk", many],
  throttled: ["events stopped by the kernel", times],
  gap_ns: ["rings stood still for", long],
  records_filtered: ["records of other processes", many],
  records_undecoded: ["records that could not be read", many],
  bytes_cut: ["bytes that could not be read", (value) => (number(value) === 0 ? "none" : bytes(number(value)))],
  rings_broken: ["rings that could not be read", many],
  log_records: ["records of activity logs", many],
  log_records_lost: ["of them lost", many],
  messages: ["messages of agents", many],
  messages_rejected: ["of them rejected", many],
  codes_without_plan: ["code objects whose plan was not loaded", many],
  messages_dropped: ["of them dropped", many],
  messages_unsent: ["not sent when the agent's connection ended", many],
};

const file: Words = {
  finished: ["written to its end", yes],
  damaged_spots: ["damaged spots", many],
  missing_blocks: ["missing blocks", many],
  malformed_blocks: ["malformed blocks", many],
  missing_samples: ["missing samples", many],
  tail_bytes: ["unreadable end", (value) => (number(value) === 0 ? "none" : bytes(number(value)))],
  first_problem: ["first problem", (value) => text(value === "" ? "none" : value)],
  text: ["in words", (value) => text(value === "" ? "complete" : value)],
};

const lossKeys = ["lost_ring", "lost_hardware", "unwritten_samples", "late", "throttled", "gap_ns", "records_undecoded", "bytes_cut", "rings_broken", "log_records_lost", "messages_rejected", "messages_dropped", "messages_unsent", "damaged_spots", "missing_blocks", "malformed_blocks", "missing_samples", "tail_bytes"];

// Those of the words, in their order.
function factsOf(values: Record<string, unknown>, words: Words): Fact[] {
  return Object.entries(words).flatMap(([key, [name, as]]): Fact[] => {
    const value = values[key];
    if (value === undefined || value === null) return [];
    return [{ name, value: (as ?? text)(value), bad: lossKeys.includes(key) && number(value) > 0 }];
  });
}

// What no word is for.
function others(values: Record<string, unknown>, ...known: Words[]): Fact[] {
  return Object.entries(values)
    .filter(([key, value]) => !known.some((words) => Object.hasOwn(words, key)) && (typeof value !== "object" || Array.isArray(value)) && key !== "scope" && key !== "by_cpu")
    .map(([key, value]) => ({ name: key.replaceAll("_", " "), value: show(key, value) }));
}

export function recordingFacts(profile: Profile): Facts[] {
  const recording = profile.recording as unknown as Record<string, unknown>;
  const accounting = profile.accounting as Record<string, unknown>;
  const state = (profile.file ?? {}) as unknown as Record<string, unknown>;
  return [
    { title: "Where and when", facts: factsOf(recording, place) },
    { title: "How samples were taken", facts: [...factsOf(recording, means), ...others(recording, place, means, costs)] },
    { title: "CPU time", facts: factsOf(recording, costs) },
    { title: "What became of the samples", facts: factsOf(accounting, samples) },
    { title: "What was lost or could not be read", facts: [...factsOf(accounting, losses), ...others(accounting, samples, losses)] },
    { title: "The file", facts: [...factsOf(state, file), ...others(state, file)] },
  ].filter((each) => each.facts.length > 0);
}
