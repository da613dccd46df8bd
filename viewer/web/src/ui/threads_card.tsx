// A lane for each thread: the pipelines it worked on, and where it was off the CPU, by what it waited for.
import { useMemo, useState } from "preact/hooks";
import type { Mark, ThreadRow, Threads } from "../data/types.ts";
import { Canvas, fit, hatch, type Pen } from "../draw/canvas.tsx";
import { type Palette, palette, shadeColor, textOn } from "../draw/colors.ts";
import { amount, duration, moment, name as clean, percent } from "../model/format.ts";
import { isOwnKey, ownAgent } from "../model/owners.ts";
import type { Range } from "../model/sight.ts";
import { mostMarks, offCpuWithin, waitsWithin, withoutOwn } from "../model/waits.ts";
import { change } from "../state/route.ts";
import { theme } from "../state/theme.ts";
import type { Loaded } from "./load.ts";
import type { PageView } from "./page_view.ts";
import { Card, DataTable, Message, Tip } from "./parts.tsx";
import { axisHeight, drawAxis, drawBrush, drawMarks, type Hover, hoverIn, timeHandlers } from "./time_axis.ts";

const laneHeight = 44;
const mostThreads = 64;
const waitNames: Record<string, string> = {
  run_queue: "for a CPU",
  lock: "for a lock",
  io: "for storage",
  page_fault: "in a page fault",
  sleep: "asleep",
  peer: "for others (socket, pipe)",
  unknown: "nothing says for what",
};

// `inSight`: of the time that charts show, where a server was asked for it.
export function ThreadsCard({ view, threads, inSight }: { view: PageView; threads: Loaded<Threads>; inSight: Loaded<Threads> | null }) {
  const rows = useMemo(() => (threads.value ? finer(threads.value.threads, inSight?.value?.threads ?? []) : []), [threads.value, inSight?.value]);
  if (!threads.value) {
    return (
      <Card id="threads" title="Threads">
        {threads.loading ? <Message text="Reading the threads…" /> : <Message text={threads.error?.message ?? "No threads."} />}
      </Card>
    );
  }
  return <Lanes view={view} rows={rows} />;
}

// All threads, with the marks and waits of those that are known finer.
function finer(rows: ThreadRow[], better: ThreadRow[]): ThreadRow[] {
  const keyOf = (row: ThreadRow) => `${row.process.pid}:${row.process.start}:${row.tid}`;
  const known = new Map(better.map((row) => [keyOf(row), row]));
  return rows.map((row) => {
    const found = known.get(keyOf(row));
    return found ? { ...row, marks: found.marks, off_cpu: found.off_cpu } : row;
  });
}

const holds = (at: number, from: number, to: number | null) => from <= at && (to === null || to > at);

// The shortest mark or wait of a thread at a time.
function spanOf(row: ThreadRow | undefined, at: number, domain: Range): Range | null {
  const spans = [...(row?.marks ?? []), ...(row?.off_cpu ?? [])].filter((each) => holds(at, each.from_ns, each.to_ns));
  const found = spans.map((each) => ({ from: each.from_ns, to: each.to_ns ?? domain.to })).sort((a, b) => a.to - a.from - (b.to - b.from))[0];
  return found && found.from < found.to ? found : null;
}

function Lanes({ view, rows }: { view: PageView; rows: ThreadRow[] }) {
  const [pointer, setPointer] = useState<Hover | null>(null);
  const colors = palette(theme.value);
  const shown = rows.slice(0, mostThreads);
  const domain = useMemo(() => {
    if (view.sight) return view.sight;
    let to = 1;
    for (const row of rows) for (const mark of row.marks) to = Math.max(to, mark.to_ns ?? mark.from_ns);
    return { from: 0, to };
  }, [view.sight?.from, view.sight?.to, rows]);
  const hover = hoverIn(pointer, domain);
  const samples = view.tableOf(domain);
  const fine = samples?.slice ? null : samples; // what says which thread
  const pipelines = useMemo(() => {
    const names = new Set<string>();
    for (const row of rows) for (const mark of row.marks) if (mark.kind === "pipeline") names.add(String(mark.id));
    return [...names].sort((a, b) => Number(a) - Number(b));
  }, [rows]);
  // How busy a thread was, by samples.
  const busy = useMemo(() => {
    if (!fine) return null;
    const place = new Map(shown.map((row, index) => [row.tid, index]));
    const buckets = 300;
    return fine.timeline({ ...view.filter, tid: null }, domain.from, domain.to, buckets, shown.length, (row) => [[place.get(fine.tid[row]!) ?? -1, 1]]);
  }, [fine, domain, view.filter.pipeline, rows]);
  const chosen = useMemo(() => costOfThreads(view), [view]);
  const costs = view.isPart && chosen ? chosen : new Map(rows.map((row) => [row.tid, row]));
  const height = shown.length * laneHeight + axisHeight;
  const colorOf = (mark: Mark) => (mark.kind === "pipeline" ? shadeColor(pipelines.indexOf(String(mark.id)), theme.value) : colors.component);

  const draw = (pen: Pen) => {
    const { g, width } = pen;
    drawAxis(pen, 0, height - axisHeight, domain, colors);
    const x = (time: number) => ((time - domain.from) / (domain.to - domain.from)) * width;
    const wait = hatch(g, colors.text, colors.panel);
    shown.forEach((thread, index) => {
      const top = index * laneHeight;
      drawMarksOf(pen, thread, top, domain, x, colorOf, colors);
      const lane = busy?.[index];
      if (lane) drawBusy(pen, lane, top, (domain.to - domain.from) / lane.length, view.unit === "events", colors);
      for (const off of thread.off_cpu) {
        const left = Math.max(0, x(off.from_ns));
        const right = Math.min(width, x(off.to_ns));
        if (right < 0 || left > width) continue;
        g.fillStyle = wait;
        g.fillRect(left, top + 25, Math.max(1, right - left), 13);
      }
      g.strokeStyle = colors.line;
      g.beginPath();
      g.moveTo(0, top + laneHeight - 0.5);
      g.lineTo(width, top + laneHeight - 0.5);
      g.stroke();
    });
    drawBrush(pen, 0, height - axisHeight, domain, view.chosen, colors);
    drawMarks(pen, height - axisHeight, domain, colors);
  };
  const laneAt = (y: number) => shown[Math.floor(y / laneHeight)];
  const handlers = timeHandlers(domain, { time: view.time, range: view.range, onHover: setPointer, thingAt: (at, y) => spanOf(laneAt(y), at, domain) });
  const at = hover ? laneAt(hover.y) : undefined;
  const part = view.partOfTime;
  const offCpu = (row: ThreadRow) => (part ? offCpuWithin(row, part) : row.off_cpu_ns);
  const isCut = rows.some((row) => row.marks_total > row.marks.length);
  return (
    <Card
      id="threads"
      title="Threads"
      note="above: pipelines by the thread’s own log, and its morsels; below: samples, and hatched the time off the CPU"
      table={() => (
        <DataTable
          caption="Threads"
          rows={rows}
          onRow={(row) => change({ tid: row.tid === view.filter.tid ? null : row.tid })}
          selected={(row) => row.tid === view.filter.tid}
          columns={[
            { name: "thread", number: true, value: (row) => row.tid },
            { name: "name", value: (row) => clean(row.name, 40) },
            { name: "samples", number: true, value: (row) => costs.get(row.tid)?.samples ?? 0 },
            { name: view.unitName, number: true, value: (row) => costs.get(row.tid)?.weight ?? 0, show: (row) => amount(costs.get(row.tid)?.weight ?? 0, view.unit) },
            { name: "off CPU", number: true, value: offCpu, show: (row) => (row.off_cpu.length === 0 ? (part && row.off_cpu_ns > 0 ? "0" : "not recorded") : duration(offCpu(row))) },
            { name: "marks", number: true, value: (row) => (part ? marksWithin(row, part) : row.marks_total) },
          ]}
        />
      )}
    >
      <div class="lanes">
        <div class="labels">
          {shown.map((row) => (
            <button type="button" key={row.tid} class={`lane thread ${row.tid === view.filter.tid ? "selected" : ""}`} style={{ height: `${laneHeight}px` }} aria-pressed={row.tid === view.filter.tid} onClick={() => change({ tid: row.tid === view.filter.tid ? null : row.tid })}>
              <span class="text">
                {clean(row.name, 30) || "thread"} <span class="dim">{row.tid}</span>
              </span>
              <b>{amount(costs.get(row.tid)?.weight ?? 0, view.unit)}</b>
            </button>
          ))}
        </div>
        <div class="chart">
          <Canvas draw={draw} height={height} label="Threads over time; the table has the sums" {...handlers} />
        </div>
      </div>
      {view.isPart && !chosen && <p class="dim small">Samples and their cost are of the whole view: sums over slices of time do not say which thread it was.</p>}
      {view.isZoomed && isCut && <p class="dim small">Of a thread, the first {mostMarks.toLocaleString("en")} marks are shown here.</p>}
      <OffCpu view={view} rows={rows} />
      {rows.length > shown.length && <p class="dim small">{rows.length - shown.length} more threads are in the table.</p>}
      {hover && at && (
        <Tip x={hover.clientX} y={hover.clientY}>
          <b>
            {clean(at.name, 30) || "thread"} {at.tid}, {moment(hover.time, (domain.to - domain.from) / 1000)}
          </b>
          {at.marks
            .filter((mark) => holds(hover.time, mark.from_ns, mark.to_ns))
            .slice(0, 6)
            .map((mark, index) => (
              <div key={index}>
                {mark.kind} {clean(mark.name, 50) || mark.id} <span class="dim">{mark.to_ns === null ? "" : duration(mark.to_ns - mark.from_ns)}</span>
              </div>
            ))}
          {at.off_cpu
            .filter((off) => holds(hover.time, off.from_ns, off.to_ns))
            .slice(0, 3)
            .map((off, index) => (
              <div key={index}>
                off the CPU, {off.event ? clean(off.event, 60) : (waitNames[off.wait] ?? clean(off.wait, 30))} <span class="dim">{duration(off.to_ns - off.from_ns)}</span>
              </div>
            ))}
        </Tip>
      )}
    </Card>
  );
}

const marksWithin = (row: ThreadRow, part: Range) => row.marks.filter((mark) => mark.from_ns < part.to && (mark.to_ns ?? Infinity) > part.from).length;

// Pipelines with their names, parts of the engine below them, and where a morsel begins if there is room to see it.
function drawMarksOf({ g, width }: Pen, thread: ThreadRow, top: number, domain: Range, x: (time: number) => number, colorOf: (mark: Mark) => string, colors: Palette) {
  const spans = thread.marks.flatMap((mark) => {
    const left = Math.max(0, x(mark.from_ns));
    const right = Math.min(width, x(mark.to_ns ?? domain.to));
    return right > left ? [{ mark, left, right }] : [];
  });
  for (const { mark, left, right } of spans) {
    if (mark.kind !== "pipeline" && mark.kind !== "component") continue;
    const color = colorOf(mark);
    g.fillStyle = color;
    const y = mark.kind === "pipeline" ? top + 3 : top + 19;
    const high = mark.kind === "pipeline" ? 15 : 5;
    g.fillRect(left, y, Math.max(0.6, right - left - 0.4), high);
    const text = mark.kind === "pipeline" ? fit(g, clean(mark.name || `pipeline ${mark.id}`, 60), right - left - 8) : "";
    if (text) {
      g.fillStyle = textOn(color);
      g.fillText(text, left + 4, y + high / 2 + 1);
    }
  }
  g.fillStyle = colors.panel;
  for (const { mark, left, right } of spans) {
    if (mark.kind !== "morsel" || right - left < 4) continue;
    g.fillRect(left, top + 3, 1, 15);
    g.fillRect(right - 1, top + 3, 1, 15);
  }
}

function drawBusy({ g, width }: Pen, lane: Float64Array, top: number, full: number, isCounted: boolean, colors: Palette) {
  const wide = width / lane.length;
  g.fillStyle = colors.dim;
  g.beginPath();
  lane.forEach((value, i) => {
    if (value <= 0) return;
    const h = Math.min(1, isCounted ? 1 : value / full) * 13;
    g.rect(i * wide, top + 38 - h, wide + 0.3, h);
  });
  g.fill();
}

// Of each thread in the chosen part. Null: not known by thread.
function costOfThreads(view: PageView): Map<number, { samples: number; weight: number }> | null {
  const table = view.table;
  if (!table || table.slice) return null;
  const out = new Map<number, { samples: number; weight: number }>();
  const kept = table.keptCells(view.filter);
  const [first, last] = table.range(view.filter);
  for (let i = first; i < last; i++) {
    if (!kept[table.cell[i]!]) continue;
    const sum = out.get(table.tid[i]!) ?? { samples: 0, weight: 0 };
    sum.samples += table.samples[i]!;
    sum.weight += table.weight[i]!;
    out.set(table.tid[i]!, sum);
  }
  return out;
}

function shares(parts: Record<string, number>, whole: number, name: (key: string) => string): string {
  return Object.entries(parts)
    .sort((a, b) => b[1] - a[1])
    .map(([key, ns]) => `${name(key)} ${percent(whole ? ns / whole : 0)}`)
    .join(", ");
}

// What owners of waits are called.
function waiterNames(view: PageView, rows: ThreadRow[]): (key: string) => string {
  const ofMarks = new Map(rows.flatMap((row) => row.marks.filter((mark) => mark.key && mark.kind === "component").map((mark) => [mark.key!, mark.name] as const)));
  return (key) => {
    const known = view.owners.find(key);
    if (known >= 0) return view.owners.at(known).name;
    return ofMarks.get(key) ?? (isOwnKey(key) ? ownAgent.name : key.startsWith("component:") ? `engine part ${key.split(":").pop()}` : "nobody known");
  };
}

// Time off the CPU by operator: beside the cost, never part of it.
function OffCpu({ view, rows }: { view: PageView; rows: ThreadRow[] }) {
  const off = view.profile.off_cpu;
  const part = view.partOfTime;
  const waits = useMemo(() => (off ? withoutOwn(part ? waitsWithin(rows, part, waiterNames(view, rows)) : off) : null), [view, rows]);
  if (!waits) return <p class="dim small">Time off the CPU was not recorded (tailor record -e off-cpu records it).</p>;
  return (
    <details class="elsewhere" open>
      <summary>
        Off the CPU: {duration(waits.ns)} in {Math.round(waits.waits).toLocaleString("en")} waits, of the {part ? "chosen part" : "whole view"}
        {waits.isCut ? `: of each thread its ${mostMarks.toLocaleString("en")} longest waits` : ""}
        {waits.own.ns > 0 && <span class="dim"> (Tailor’s own agent, which waits for messages, is not counted: {duration(waits.own.ns)})</span>}
      </summary>
      <DataTable
        caption="Time off the CPU by operator"
        rows={waits.rows}
        columns={[
          { name: "operator", value: (row) => clean(row.name, 80) },
          { name: "time", number: true, value: (row) => row.ns, show: (row) => duration(row.ns) },
          { name: "waits", number: true, value: (row) => row.waits, show: (row) => row.waits.toFixed(0) },
          {
            name: "for what",
            value: (row) => row.ns,
            show: (row) => shares(row.by_wait, row.ns, (wait) => waitNames[wait.replace(/_ns$/, "")] ?? wait),
          },
          {
            name: "by the engine's words",
            value: (row) => row.ns,
            show: (row) => shares(row.by_event ?? {}, row.ns, (event) => clean(event, 60)),
          },
        ]}
      />
    </details>
  );
}
