// All samples of a view as columns, and the sums over any part of them. One pass over the rows that a filter keeps,
// everything else is done once for each kind of sample ("cell").
import type { Cell, Profile, Samples } from "../data/types.ts";
import { isOwnKey, operatorKey, type Owners, planKeyOf, reasonKey, reasonOfQuality } from "./owners.ts";

export type Part = [number, number]; // (id or index, part)

// What all samples of a cell have in common, with owners as numbers.
export interface CellInfo {
  owners: Part[];
  plan: string;
  pipeline: number;
  tasks: Part[];
  lines: Part[];
  kernel: boolean;
  inferred: boolean;
  shared: boolean;
  how: string;
}

export interface RowFilter {
  from: number; // ns since the origin, [from, to)
  to: number;
  tid: number | null;
  pipeline: string | null; // "<plan key>:<id>"
}

export class SampleTable {
  readonly time: Float64Array;
  readonly tid: Int32Array;
  readonly cell: Uint32Array;
  readonly weight: Float64Array;
  readonly samples: Float64Array; // that a row stands for
  readonly squares: Float64Array; // of their weights
  readonly slice: number; // ns that a row stands for; 0: each is one sample
  // When it was that a row's time was spent, [begin, end): a weight in ns is the time up to its sample.
  readonly begin: Float64Array;
  readonly end: Float64Array;
  readonly cells: CellInfo[];
  readonly leftOut: number; // ns that Tailor's own agent waited: that is no wait of the engine
  readonly from: number;
  readonly to: number;
  readonly worth: number; // of a sample, in independent ones: less than one where only a share of the executions is sampled

  constructor(profile: Profile, samples: Samples, owners: Owners) {
    this.worth = Math.max(0, Math.min(1, profile.sample_worth ?? 1));
    const pipelines = new PipelineOfTask(profile);
    this.cells = samples.cells.map((cell) => cellInfo(cell, owners, pipelines));
    const wanted = sourceWanted(profile, samples);
    const rows: number[] = [];
    const { samples: counts, squares } = samples;
    this.slice = counts && squares ? Math.max(0, samples.slice_ns ?? 0) : 0;
    const columns = [samples.time_ns, samples.weight, samples.cell, ...(counts && squares ? [counts, squares] : [samples.tid])];
    const length = Math.min(...columns.map((column) => column.length));
    let leftOut = 0;
    const isOwn = samples.cells.map((cell) => profile.source.unit === "ns_off_cpu" && cell.owner === "component" && isOwnKey(cell.key ?? ""));
    for (let i = 0; i < length; i++) {
      const cell = samples.cells[samples.cell[i]!];
      if (isOwn[samples.cell[i]!] && (wanted === null || cell!.source === wanted)) leftOut += samples.weight[i]!;
      else if (cell && (wanted === null || cell.source === wanted)) rows.push(i);
    }
    this.leftOut = leftOut;
    rows.sort((a, b) => samples.time_ns[a]! - samples.time_ns[b]!);
    this.time = Float64Array.from(rows, (i) => samples.time_ns[i]!);
    this.tid = Int32Array.from(rows, (i) => samples.tid[i] ?? 0);
    this.cell = Uint32Array.from(rows, (i) => samples.cell[i]!);
    this.weight = Float64Array.from(rows, (i) => samples.weight[i]!);
    this.samples = Float64Array.from(rows, (i) => counts?.[i] ?? 1);
    this.squares = Float64Array.from(rows, (i) => (counts && squares ? squares[i]! : samples.weight[i]! ** 2));
    [this.begin, this.end] = this.slice ? this.spansOfSlices(profile) : this.spansOfSamples(profile);
    this.from = rows.length ? (this.slice ? this.time[0]! : Math.min(0, this.time[0]!)) : 0;
    this.to = rows.length ? this.time[rows.length - 1]! + Math.max(1, this.slice) : 1;
  }

  private spansOfSamples(profile: Profile): [Float64Array, Float64Array] {
    const begin = Float64Array.from(this.time);
    const end = Float64Array.from(this.time);
    if (profile.source.unit === "events") return [begin, end];
    // A thread does one thing at a time. Where weights reach into the sample before, because they are means or were added
    // up in the kernel, that one lies before them, unless it would be moved too far.
    const length = this.time.length ? this.time[this.time.length - 1]! - this.time[0]! : 0;
    const most = Math.max(profile.recording?.aggregated_ns ?? 0, length / 20);
    const next = new Map<number, number>();
    for (let i = this.time.length - 1; i >= 0; i--) {
      const time = this.time[i]!;
      const before = next.get(this.tid[i]!) ?? time;
      end[i] = before < time && time - before <= Math.max(most, 16 * this.weight[i]!) ? before : time;
      begin[i] = end[i]! - this.weight[i]!;
      next.set(this.tid[i]!, begin[i]!);
    }
    return [begin, end];
  }

  // The mean length of a row's samples, each counted as often as it is long; a slice at least.
  private spansOfSlices(profile: Profile): [Float64Array, Float64Array] {
    const end = this.time.map((time) => time + this.slice);
    if (profile.source.unit === "events") return [Float64Array.from(this.time), end];
    return [end.map((at, i) => at - Math.max(this.slice, this.weight[i]! > 0 ? this.squares[i]! / this.weight[i]! : 0)), end];
  }

  // Columns of a chart over [from, to), about `wanted`: each has the same number of slices.
  columns(wanted: number, from = this.from, to = this.to): { buckets: number; from: number; to: number } {
    if (this.slice === 0) return { buckets: wanted, from, to };
    const begin = this.from + Math.floor((from - this.from) / this.slice) * this.slice;
    const slices = Math.max(1, Math.round((to - begin) / this.slice));
    const each = Math.ceil(slices / wanted);
    const buckets = Math.ceil(slices / each);
    return { buckets, from: begin, to: begin + buckets * each * this.slice };
  }

  // How many samples rows stand for that may have some in [from, to).
  samplesWithin(from: number, to: number): number {
    let sum = 0;
    for (let i = lowerBound(this.time, from - Math.max(0, this.slice - 1)); i < this.time.length && this.time[i]! < to; i++) sum += this.samples[i]!;
    return sum;
  }

  // Rows [first, last) whose time is in the filter's.
  range(filter: RowFilter): [number, number] {
    return [lowerBound(this.time, filter.from), lowerBound(this.time, filter.to)];
  }

  // Rows that have some of their time in [from, to); null: more than `most`, or rows are no samples.
  rowsOver(filter: RowFilter, from: number, to: number, most: number): number[] | null {
    if (this.slice) return null;
    const kept = this.keptCells(filter);
    const out: number[] = [];
    for (let i = lowerBound(this.time, from); i < this.time.length; i++) {
      if (this.begin[i]! >= to || this.end[i]! < from || !kept[this.cell[i]!] || (filter.tid !== null && this.tid[i] !== filter.tid)) continue;
      if (out.push(i) > most) return null;
    }
    return out;
  }

  // Whether a cell is kept, for each cell.
  keptCells(filter: RowFilter): Uint8Array {
    return Uint8Array.from(this.cells, (cell) =>
      filter.pipeline === null || `${cell.plan}:${cell.pipeline}` === filter.pipeline ? 1 : 0,
    );
  }

  sumCells(filter: RowFilter): CellSums {
    const sums = new CellSums(this.cells.length);
    const kept = this.keptCells(filter);
    const [first, last] = this.range(filter);
    for (let i = first; i < last; i++) {
      const cell = this.cell[i]!;
      if (!kept[cell] || (filter.tid !== null && this.tid[i] !== filter.tid)) continue;
      sums.add(cell, this.weight[i]!, this.samples[i]!, this.squares[i]!);
    }
    return sums;
  }

  // Weight by (series, bucket) over [from, to), in the time that it stands for: what began before or ends later is there
  // in part. `seriesOf` says for a row where it goes: parts of series.
  timeline(filter: RowFilter, from: number, to: number, buckets: number, series: number, seriesOf: (row: number) => Part[]) {
    const out = Array.from({ length: series }, () => new Float64Array(buckets));
    const kept = this.keptCells(filter);
    const scale = buckets / (to - from);
    for (let i = lowerBound(this.time, from - this.slice); i < this.time.length; i++) {
      if (this.begin[i]! >= to || this.end[i]! < from || !kept[this.cell[i]!] || (filter.tid !== null && this.tid[i] !== filter.tid)) continue;
      const length = this.end[i]! - this.begin[i]!;
      const first = Math.max(0, (this.begin[i]! - from) * scale);
      const last = Math.min(buckets, (this.end[i]! - from) * scale);
      const ofBucket = length > 0 ? this.weight[i]! / (length * scale) : 0;
      for (const [index, part] of seriesOf(i)) {
        const row = out[index];
        if (!row) continue;
        if (length === 0) row[Math.min(buckets - 1, Math.floor(first))]! += this.weight[i]! * part;
        else for (let at = Math.floor(first); at < last; at++) row[at]! += (Math.min(last, at + 1) - Math.max(first, at)) * ofBucket * part;
      }
    }
    return out;
  }
}

// Two threads that follow each other on a CPU seem to overlap: when a sample's time began is known only up to the time between two
// samples. Together they have been no more than the CPUs of the host, so such a column is drawn as that. `most` 0: not known.
export function noMoreThan(series: Float64Array[], most: number) {
  if (!(most > 0)) return;
  for (let i = 0; i < (series[0]?.length ?? 0); i++) {
    const sum = series.reduce((all, lane) => all + lane[i]!, 0);
    if (sum > most) for (const lane of series) lane[i]! *= most / sum;
  }
}

export class CellSums {
  readonly weight: Float64Array;
  readonly samples: Float64Array;
  total = 0;
  count = 0;
  squares = 0;

  constructor(cells: number) {
    this.weight = new Float64Array(cells);
    this.samples = new Float64Array(cells);
  }

  add(cell: number, weight: number, samples = 1, squares = weight * weight) {
    this.weight[cell]! += weight;
    this.samples[cell]! += samples;
    this.total += weight;
    this.count += samples;
    this.squares += squares;
  }

  // What intervals are computed from.
  get effective(): number {
    return this.squares > 0 ? (this.total * this.total) / this.squares : 0;
  }
}

export function lowerBound(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The pipeline whose task list alone has a task; then it says which pipeline, else the thread's log does.
class PipelineOfTask {
  private readonly known = new Map<string, number>();
  constructor(profile: Profile) {
    for (const plan of profile.plans) {
      for (const pipeline of plan.pipelines) {
        if (pipeline.id === 0) continue;
        for (const task of pipeline.tasks) {
          if (task.id === 0) continue;
          const key = `${planKeyOf(plan)}:${task.id}`;
          this.known.set(key, this.known.has(key) && this.known.get(key) !== pipeline.id ? 0 : pipeline.id);
        }
      }
    }
  }
  of(plan: string, tasks: Part[], said: number): number {
    return (tasks.length === 1 && this.known.get(`${plan}:${tasks[0]![0]}`)) || said;
  }
}

function sourceWanted(profile: Profile, samples: Samples): number | null {
  const position = samples.sources.findIndex((each) => each.name === profile.source.name);
  return position < 0 ? null : position;
}

function cellInfo(cell: Cell, owners: Owners, pipelines: PipelineOfTask): CellInfo {
  const plan = cell.plan_key ?? "";
  const levels = Object.values(cell.levels ?? {});
  const info: CellInfo = {
    owners: [],
    plan,
    pipeline: cell.pipeline,
    tasks: levels.length >= 3 ? levels[levels.length - 2]! : [],
    lines: [],
    kernel: cell.kernel,
    inferred: cell.quality === "inferred",
    shared: false,
    how: cell.how,
  };
  if (cell.owner !== "plan") {
    const key = cell.key || (cell.owner === "component" ? "component:0.0:0" : reasonKey("no_reason"));
    info.owners = [[owners.index(cell.owner === "unattributed" ? reasonKey(key) : key), 1]];
    return info;
  }
  const top = levels[0] ?? [[0, 1] as Part];
  info.owners = top.map(([id, part]): Part => [
    owners.index(id === 0 ? reasonOfQuality(cell.quality) : operatorKey(plan, id)),
    part,
  ]);
  info.shared = top.length > 1;
  info.lines = cell.levels?.["ir"] ?? (levels.length >= 2 ? levels[levels.length - 1]! : []);
  if (cell.levels?.["task"]) info.tasks = cell.levels["task"];
  info.pipeline = pipelines.of(plan, info.tasks, cell.pipeline);
  return info;
}
