// The shapes of docs/http-api.md, as far as the page reads them. Everything in them comes from outside: names may
// hold anything, arrays may be missing in what an older program wrote.

export interface Cost {
  share: number;
  share_low: number;
  share_high: number;
  samples: number;
  weight: number;
  kernel_weight: number;
  inferred_weight: number;
  shared_weight: number;
}

export interface Attribute {
  key: string;
  value: string;
}

export interface OperatorRow extends Cost {
  id: number;
  key?: string;
  name: string;
  kind: string;
  attributes?: Attribute[];
  inputs: number[];
  depth: number;
  threads?: number; // only of elapsed time, as below
  skew?: number; // the busiest thread against the mean
  skew_low?: number;
}

export interface TaskRow extends Cost {
  id: number;
  name: string;
  kind: string;
  operators?: string[];
}

export interface PipelineRow extends Cost {
  id: number;
  name: string;
  depends_on: number[];
  tasks: TaskRow[];
  threads?: number; // only of elapsed time, like the next two: as of an operator
  skew?: number;
  skew_low?: number;
}

export interface ProcessKey {
  pid: number;
  start: number;
}

export interface PlanRow extends Cost {
  process: ProcessKey;
  plan: number;
  plan_key?: string;
  name: string;
  executions: number;
  executions_without_sample?: number; // missing: not known
  operators: OperatorRow[];
  pipelines: PipelineRow[];
  threads?: number;
}

export interface NamedRow extends Cost {
  key: string;
  owner?: string; // its key in all views
  name: string;
  process?: ProcessKey;
}

export interface OwnedRow extends NamedRow {
  owner: string;
  threads?: number;
}

export interface Source {
  name: string;
  unit: "ns_on_cpu" | "ns_off_cpu" | "events";
  period: number;
  precise: boolean;
}

export interface SourceSums extends Source {
  samples: number;
  weight: number;
}

export interface Accounting {
  received: number;
  attributed: number;
  unattributed: number;
  filtered: number;
  late: number;
  lost_ring: number;
  lost_hardware: number;
  throttled: number;
  gap_ns: number;
  lost_share: number;
  unwritten_samples: number;
  stacks_walked?: number;
  stacks_without_begin_share?: number;
  [key: string]: unknown;
}

export interface FileState {
  finished: boolean;
  damaged_spots: number;
  missing_blocks: number;
  malformed_blocks: number;
  missing_samples: number;
  tail_bytes: number;
  first_problem: string;
}

export interface Recording {
  host: string;
  kernel: string;
  command: string;
  daemon_version: string;
  capture: string;
  clock_source: string;
  clock_error_ns: number;
  cpus: number;
  steal_ns: number;
  cpu_used_ns: number;
  cpu_sampled_ns: number;
  aggregated_ns: number;
}

export interface OffCpuRow {
  plan: number;
  operator: number;
  name: string;
  waits: number;
  ns: number;
  by_wait: Record<string, number>;
  by_event?: Record<string, number>;
}

// With `of=elapsed`: what the shares are parts of.
export interface DividedTime {
  executions: number;
  too_short: number;
  added_up?: number; // left out too: executions that are many short runs, which their engine added up
  ns: number;
  worked_ns: number;
  idle_ns: number;
  idle_share: number;
}

// What a view of several executions is of. Older programs do not say what else was left out.
export interface ViewOf {
  runs?: { executions: number; sampled: number; left_out: number };
  notes?: string[];
}

export interface Profile {
  view?: ViewOf; // files of older programs have none
  recording: Recording;
  source: Source;
  samples: number;
  weight: number;
  elapsed?: DividedTime;
  effective_samples: number;
  sample_worth?: number; // only a share of the executions was sampled: how many independent samples one is worth on average
  operators: Cost;
  engine_components: Cost;
  unattributed: Cost;
  all: Cost;
  component_rows: OwnedRow[];
  unattributed_rows: OwnedRow[];
  drawn?: { executions: number; drawn: number; weight: number; estimate: { weight: number; low: number; high: number } | null }; // only where a share of the executions is sampled
  accounting: Accounting;
  file: FileState;
  plans: PlanRow[];
  off_cpu?: { source: string; waits: number; ns: number; by_wait: Record<string, number>; rows: OffCpuRow[] };
  other_sources: SourceSums[];
  only?: string;
}

export interface AddedRuns {
  runs: number;
  failed: number;
  elapsed_ns: { min: number; mean: number; max: number };
}

export interface Execution {
  id: string;
  pid: number;
  process_start: number;
  comm?: string;
  engine?: string;
  cgroup?: string;
  pod?: string;
  container?: string;
  rate?: { hz: number; why: string }; // its process was sampled at this rate for some of its time; "trigger NAME: what held"
  plan: number;
  plan_key?: string;
  plan_name: string;
  fingerprint?: string;
  began_ms?: number;
  running: boolean;
  elapsed_ns?: number;
  cpu_ns: number;
  samples: number;
  drawn?: boolean; // false: a share of the executions is sampled, and this one is not
  rows: number | null; // null: the process ended before it was said
  added_runs?: AddedRuns; // its engine added up these runs; then elapsed_ns is from the first begin to the last end
  runs_unknown?: boolean; // its engine added up runs, and nobody knows how many: elapsed_ns is of none of them
  // Who held locks that it waited for; times since its begin.
  blockers?: { pid: number; process_start: number; execution: string | null; from_ns: number; to_ns: number }[];
  blockers_left_out?: number;
  error: string;
  labels: Record<string, string>;
}

export interface Cell {
  source: number;
  plan_key?: string;
  pid?: number;
  pipeline: number;
  how: string;
  kernel: boolean;
  quality: string;
  owner: "plan" | "component" | "unattributed";
  levels?: Record<string, [number, number][]>;
  key?: string;
  wait?: string;
  event?: string;
}

export interface Samples {
  sources: Source[];
  total: number;
  count: number;
  cells: Cell[];
  time_ns: number[];
  tid: number[];
  weight: number[];
  cell: number[];
  // Only where a row stands for all samples of a cell in a slice of time. Then nothing is said of threads.
  slice_ns?: number;
  samples?: number[];
  squares?: number[];
}

// A tree of costs. Its kinds are those of docs/http-api.md, and there may be more.
export interface FlameTree {
  key: string;
  kind: string;
  id?: number;
  name: string;
  weight: number;
  samples: number;
  children: FlameTree[];
}

export interface Flame {
  root: FlameTree;
}

// A tree of calls as columns: the first node is the root, a node's parent comes before it.
export interface CallTreeColumns {
  function: number[]; // into the functions; -1: the root, -2: the rest below its parent
  parent: number[];
  samples: number[];
  weight: number[];
  self_samples: number[];
  self_weight: number[];
  merged: number[]; // of the rest: how many nodes it stands for
}

export interface LeftOut {
  count: number;
  samples: number;
  weight: number;
}

export interface Functions {
  view: { source: Source; samples: number; weight: number };
  effective_samples: number;
  with_chain: { samples: number; weight: number };
  left_out: { samples: number; weight: number };
  objects: string[];
  owners: { key: string; name: string }[]; // empty: there is one owner only
  functions: {
    name: string[];
    named: boolean[];
    object: number[];
    kind: ("user" | "kernel" | "generated" | "unknown")[];
    address: string[]; // "" unless another function has the same name
    why: string[]; // it has no name
    self_samples: number[];
    self_weight: number[];
    total_samples: number[];
    total_weight: number[];
    owners: [number, number, number, number, number][][]; // owner, samples and weight of its own code, and of all
  };
  more_functions: LeftOut;
  libraries: { object: number[]; samples: number[]; weight: number[] };
  more_libraries: LeftOut;
  callees: CallTreeColumns;
  callers: CallTreeColumns;
}

export interface ListingLine extends Partial<Cost> {
  line: number;
  kind: "function" | "block" | "instruction" | "other";
  text: string;
  operators?: string[];
  operator_keys?: string[];
  tasks?: string[];
}

export interface Instruction extends Partial<Cost> {
  offset: number;
  text: string;
  line: number;
  lines?: number[];
  quality: string;
  function?: string;
}

export interface CodeObject {
  code: number;
  name: string;
  tier: string;
  base: string;
  samples: number;
  instructions: Instruction[];
}

export interface Listing {
  plan_key?: string;
  name: string;
  level: string;
  lines: ListingLine[];
  elsewhere: NamedRow[];
  assembly?: CodeObject[];
}

export interface Region {
  key: string;
  kind: number;
  name: string;
  role?: string; // neither is known of a kind that the engine did not declare
  element_bytes?: number;
  base: string;
  size: number;
  tid: number;
  from_ns: number;
  to_ns: number | null;
  samples: number;
}

export interface MemoryRow extends Cost {
  operator: number;
  operator_name: string;
  region: number;
  region_name: string;
  latency_cycles: number;
  served_by: Record<string, number>;
}

// All regions of one kind.
export interface RegionRow extends Cost {
  kind: number;
  name: string;
  role: string;
  regions: number;
  pattern: "sequential" | "strided" | "random" | "mixed" | "unknown";
  stride_bytes?: number;
  latency_cycles: number;
}

export interface Memory {
  samples: number;
  user_samples: number;
  addresses: { recorded: number; decoded: number; in_regions: number };
  rows: MemoryRow[];
  regions?: Region[];
  points?: {
    count: number;
    total: number;
    time_ns: number[];
    region: number[];
    offset: number[];
    operator: number[];
    pipeline?: number[]; // of the operator's plan; files of older programs have none
    tid: number[];
    weight: number[];
    latency: number[];
  };
  operators?: string[];
  by_region?: RegionRow[];
}

export interface Mark {
  kind: string;
  id: number;
  name: string;
  key?: string;
  from_ns: number;
  to_ns: number | null;
}

export interface ThreadRow {
  process: ProcessKey;
  tid: number;
  name: string;
  samples: number;
  weight: number;
  marks: Mark[];
  marks_total: number;
  off_cpu: { from_ns: number; to_ns: number; wait: string; event?: string; key: string }[];
  off_cpu_ns: number;
}

export interface Threads {
  threads: ThreadRow[];
}

// What of it the page reads.
export interface Timeline {
  workers: { threads: number; working: number[]; waiting: number[] | null } | null;
}

export interface Iterations {
  loops: {
    execution: string;
    component: number;
    name: string;
    found_by: string;
    spread: number;
    iterations: { number: number; begin_ns: number; elapsed_ns: number; samples: number; weight: number }[];
  }[];
}

// Of a daemon. What a file says of its health is "ok", and nothing else.
export interface Health {
  status: string;
  reasons: string[];
  received?: number;
  attributed?: number;
  unattributed?: number;
  lost?: number;
  late?: number;
  lost_share?: number;
  own_cpu_share?: number;
  own_memory_bytes?: number;
}

export interface Status {
  mode: "live" | "file";
  version: string;
  uptime_ns?: number; // only live, like the next two
  now_ms: number;
  host: string;
  file: string;
  health: Health;
  clock_source?: string;
  capture?: string;
  processes: { pid: number; comm: string; engine: string; sampled: boolean; note: string; accounting?: Accounting }[];
}

export interface CostOverTime {
  key: string;
  name: string;
  cpu_ns: number[];
}

export interface Host {
  from_ms: number;
  to_ms: number;
  bucket_ms: number;
  by_fingerprint: CostOverTime[];
  by_kind: CostOverTime[];
  by_kind_left_out?: string; // why it is empty
  running: Execution[];
  health: Health;
}

export interface Fingerprint {
  fingerprint: string;
  name: string;
  text: string;
  executions: number;
  cpu_ns: number;
  samples: number;
  drawn?: number; // of the executions, those that are sampled: the CPU time is of these
  cpu_ns_of_all?: { value: number; low: number; high: number } | null; // of all of them; null: all are sampled, or too few
  elapsed_ns: { min: number; mean: number; max: number; unknown?: number }; // unknown: how many executions are in none of these
  running?: number; // of the executions: in none of these, too
  first_ms: number; // when the first and the last of them began
  last_ms: number;
  last_execution: string;
}

// One query: its newest executions, and its operators over all runs that have enough samples together.
export interface Query extends Fingerprint {
  executions_list: Execution[];
  first_sampled?: string; // programs before this one say neither; "": no execution has samples
  last_sampled?: string;
  runs: Runs;
}

export interface Runs {
  executions: number;
  sampled: number; // of them, those with samples
  left_out: number; // older ones
  notes?: string[]; // what else is left out; older programs do not say it
  samples: number;
  plans: number; // trees of operators; shown is the most expensive one
  operators: OperatorRow[];
}

// A sum over hours or days.
export interface HistoryRow {
  what: "operator" | "component" | "unattributed";
  id: number;
  name: string;
  kind: string;
  source: string;
  unit: Source["unit"];
  samples: number;
  weight: number;
  weight_squares?: number | null; // null: an older program summed some of it up, and did not count them
}

export interface HistorySums {
  executions: number;
  drawn?: number; // of these, those that costs are of; older daemons do not say it
  failed: number;
  elapsed_ns: { min: number; mean: number; max: number; unknown?: number };
  rows: HistoryRow[];
  losses?: { lost_ring: number; lost_hardware: number; late: number; unwritten: number };
}

export interface History extends HistorySums {
  by: "hour" | "day";
  file?: FileState; // older daemons have none
  periods: (HistorySums & { begin_ms: number; end_ms: number })[];
}

// Newest first: the last execution by the old plan, and the first one by the new plan.
export interface PlanChanges {
  plan_changes: { fingerprint: string; before: Execution; after: Execution }[];
  more: boolean; // there are older ones
  executions: number; // that were compared
  without_plan: number; // that were not: their plan is not known
  cut: boolean; // only the newest executions were looked at
}

// The interval is not known of sums that an older program made, or of which a share of the executions was sampled.
export interface CompareCost {
  share: number;
  share_low: number | null;
  share_high: number | null;
  samples: number;
  weight: number;
}

// How many times the cost of an execution of A one of B has, with its 95 % interval.
export interface Growth {
  ratio: number;
  low: number;
  high: number;
}

export interface CompareRow {
  change: "matched" | "moved" | "new" | "gone";
  name: string;
  a: CompareCost | null;
  b: CompareCost | null;
  weight_change: number;
  share_change: number;
  growth?: Growth | null; // null: too few samples say it; older programs do not
  significant: boolean | null; // null: not known
}

// What is beside the operators: both executions have it.
export interface CompareRest {
  key: string;
  name: string;
  a: CompareCost;
  b: CompareCost;
  weight_change: number;
  share_change: number;
  growth?: Growth | null; // null: too few samples say it; older programs do not
  significant: boolean | null;
}

// A side that is a query in a time.
export interface CompareRuns {
  executions: number;
  sampled: number; // of them, those with samples
  left_out: number; // older ones
  other_plans: number; // that ran another plan than the one that is compared
  runs_unknown?: number; // left out too: runs were added up in them, and nobody knows how many
  notes?: string[]; // what else is left out
}

export interface Compare {
  a: Execution; // the newest of the side; with `sums` it has no keys
  b: Execution;
  source: Source;
  executions?: { a?: number; b?: number }; // that the costs are of
  same_plan: boolean | null; // null: some sums do not say it
  growth?: Growth | null; // of all of it
  runs_unknown?: boolean; // some that is compared are runs that were added up, nobody knows how many: what one costs is not known
  sums?: boolean; // samples of some of the time are deleted
  unwritten?: { a: number; b: number }; // samples that sums lack
  runs?: { a: CompareRuns | null; b: CompareRuns | null };
  file?: { a: FileState; b: FileState };
  operators: CompareRow[];
  rest: CompareRest[];
}

export interface Bundle {
  format: "tailor-bundle";
  version: number;
  generator: string;
  id: string;
  responses: Record<string, unknown>;
}

export interface ErrorBody {
  error: { kind: string; message: string };
}
