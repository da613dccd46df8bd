// How many threads worked, and how many waited, at each moment: the lane below the activity. As the daemon has it over HTTP
// (`workers` of a timeline).
import type { Profile, Samples } from "../data/types.ts";
import { isOwnKey } from "./owners.ts";
import type { RowFilter, SampleTable } from "./samples.ts";
import { overlap, type Range } from "./sight.ts";

export interface WorkersLane {
  threads: number; // that worked in the time
  working: Float64Array; // by part of the time: how many of them did, on average
  waiting: Float64Array | null; // were off the CPU, but for the run queue; null: not recorded
}

// Rows of samples, by thread and then by the end of the time that they stand for.
interface Spans {
  thread: Int32Array;
  tid: Int32Array;
  cell: Uint32Array;
  begin: Float64Array;
  end: Float64Array;
}

export class Workers {
  private readonly table: SampleTable;
  private readonly working: Spans;
  private readonly waiting: Spans | null;

  private constructor(table: SampleTable, working: Spans, waiting: Spans | null) {
    this.table = table;
    this.working = working;
    this.waiting = waiting;
  }

  // Null where samples do not say it: they are of no CPU time, were added up, or do not say which thread worked. `table`: of these.
  static of(profile: Profile, samples: Samples, table: SampleTable): Workers | null {
    const cpu = samples.sources.findIndex((each) => each.name === profile.source.name);
    if (cpu < 0 || profile.source.unit !== "ns_on_cpu" || (profile.recording?.aggregated_ns ?? 0) > 0 || table.slice > 0) return null;
    const threads = new Map<string, number>();
    const keyOf = (row: number) => `${samples.cells[samples.cell[row]!]!.pid ?? 0}:${samples.tid[row]!}`;
    const rows = rowsWhere(samples, (cell) => cell.source === cpu);
    for (const row of rows) if (!threads.has(keyOf(row))) threads.set(keyOf(row), threads.size);
    const working = spansOf(samples, rows, (row) => threads.get(keyOf(row))!);
    const off = samples.sources.findIndex((each) => each.unit === "ns_off_cpu");
    if (off < 0) return new Workers(table, working, null);
    // Tailor's own agent waits for messages: that is no wait of the engine.
    const waits = rowsWhere(samples, (cell) => cell.source === off && cell.wait !== "run_queue" && !isOwnKey(cell.key ?? "")).filter((row) => threads.has(keyOf(row)));
    return new Workers(table, working, spansOf(samples, waits, (row) => threads.get(keyOf(row))!));
  }

  // Of [from, to) in equal parts; of the filter the thread and the pipeline count. Null: no thread worked.
  lane(filter: RowFilter, { from, to }: Range, parts: number): WorkersLane | null {
    const kept = this.table.keptCells(filter);
    const worked = new Parts(from, to, parts);
    const threads = divide(this.working, kept, filter.tid, worked);
    if (threads === 0) return null;
    const waited = new Parts(from, to, parts);
    if (this.waiting) divide(this.waiting, kept, filter.tid, waited);
    return { threads, working: worked.take(), waiting: this.waiting && waited.take() };
  }
}

function rowsWhere(samples: Samples, wanted: (cell: Samples["cells"][number]) => boolean): number[] {
  const isWanted = samples.cells.map(wanted);
  const length = Math.min(samples.time_ns.length, samples.weight.length, samples.cell.length, samples.tid.length);
  return Array.from({ length }, (_, row) => row).filter((row) => isWanted[samples.cell[row]!]);
}

function spansOf(samples: Samples, rows: number[], threadOf: (row: number) => number): Spans {
  const sorted = rows
    .map((row) => ({ row, thread: threadOf(row), end: samples.time_ns[row]!, begin: samples.time_ns[row]! - samples.weight[row]! }))
    .sort((a, b) => a.thread - b.thread || a.end - b.end || a.begin - b.begin);
  return {
    thread: Int32Array.from(sorted, (each) => each.thread),
    tid: Int32Array.from(sorted, (each) => samples.tid[each.row]!),
    cell: Uint32Array.from(sorted, (each) => samples.cell[each.row]!),
    begin: Float64Array.from(sorted, (each) => each.begin),
    end: Float64Array.from(sorted, (each) => each.end),
  };
}

// Into the parts of the time. No span begins before the one of the same thread before it ended. How many threads have some there.
function divide(spans: Spans, kept: Uint8Array, tid: number | null, parts: Parts): number {
  let threads = 0;
  let [thread, until, counted] = [-1, 0, false];
  for (let i = 0; i < spans.thread.length; i++) {
    if (!kept[spans.cell[i]!] || (tid !== null && spans.tid[i] !== tid)) continue;
    const follows = spans.thread[i] === thread;
    const begin = follows ? Math.max(spans.begin[i]!, until) : spans.begin[i]!;
    if (!follows) counted = false;
    [thread, until] = [spans.thread[i]!, spans.end[i]!];
    if (!parts.add(begin, until) || counted) continue;
    counted = true;
    threads++;
  }
  return threads;
}

// A span that fills many parts takes no longer than one that fills few.
class Parts {
  private readonly range: Range;
  private readonly each: number; // ns
  private readonly sums: Float64Array; // of spans that begin or end in the part
  private readonly changes: Float64Array; // from the part before: how many spans fill it

  constructor(from: number, to: number, count: number) {
    this.range = { from, to };
    this.each = (to - from) / count;
    this.sums = new Float64Array(count);
    this.changes = new Float64Array(count + 1);
  }

  // False: nothing of it is in the time.
  add(begin: number, end: number): boolean {
    if (overlap(begin, end, this.range) <= 0) return false;
    const first = (Math.max(begin, this.range.from) - this.range.from) / this.each;
    const last = (Math.min(end, this.range.to) - this.range.from) / this.each;
    const [one, other] = [this.partOf(first), this.partOf(last)];
    if (one === other) {
      this.sums[one]! += last - first;
      return true;
    }
    this.sums[one]! += one + 1 - first;
    this.sums[other]! += last - other;
    this.changes[one + 1]! += 1;
    this.changes[other]! -= 1;
    return true;
  }

  take(): Float64Array {
    let whole = 0;
    return this.sums.map((sum, i) => {
      whole += this.changes[i]!;
      return sum + whole;
    });
  }

  // The end of the time is in the last one.
  private partOf(place: number): number {
    return Math.min(Math.floor(place), this.sums.length - 1);
  }
}
