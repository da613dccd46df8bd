// A lane for each thread: the pipelines it worked on, and where it was off the CPU, by what it waited for.
import { useMemo, useState } from "preact/hooks";
import type { ThreadRow, Threads } from "../data/types.ts";
import { Canvas, fit, hatch, type Pen } from "../draw/canvas.tsx";
import { palette, shadeColor, textOn } from "../draw/colors.ts";
import { amount, duration, name as clean, percent } from "../model/format.ts";
import { change } from "../state/route.ts";
import { theme } from "../state/theme.ts";
import type { Loaded } from "./load.ts";
import type { PageView } from "./page_view.ts";
import { Card, DataTable, Message, Tip } from "./parts.tsx";
import { axisHeight, brushHandlers, drawAxis, drawBrush } from "./time_axis.ts";

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

export function ThreadsCard({ view, threads }: { view: PageView; threads: Loaded<Threads> }) {
  if (!threads.value) {
    return (
      <Card id="threads" title="Threads">
        {threads.loading ? <Message text="Reading the threads…" /> : <Message text={threads.error?.message ?? "No threads."} />}
      </Card>
    );
  }
  return <Lanes view={view} rows={threads.value.threads} />;
}

function Lanes({ view, rows }: { view: PageView; rows: ThreadRow[] }) {
  const [hover, setHover] = useState<{ time: number; x: number; y: number; clientX: number; clientY: number } | null>(null);
  const colors = palette(theme.value);
  const table = view.base.table;
  const fine = view.table?.slice ? null : view.table; // what tells threads apart
  const shown = rows.slice(0, mostThreads);
  const domain = useMemo(() => {
    if (table) return { from: table.from, to: table.to };
    let to = 1;
    for (const row of rows) for (const mark of row.marks) to = Math.max(to, mark.to_ns ?? mark.from_ns);
    return { from: 0, to };
  }, [table, rows]);
  const pipelines = useMemo(() => {
    const names: string[] = [];
    for (const row of rows) for (const mark of row.marks) if (mark.kind === "pipeline" && !names.includes(String(mark.id))) names.push(String(mark.id));
    return names.sort((a, b) => Number(a) - Number(b));
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
  const x = (time: number, width: number) => ((time - domain.from) / (domain.to - domain.from)) * width;

  const draw = (pen: Pen) => {
    const { g, width } = pen;
    drawAxis(pen, 0, height - axisHeight, domain, colors);
    shown.forEach((thread, index) => {
      const top = index * laneHeight;
      for (const mark of thread.marks) {
        if (mark.kind !== "pipeline" && mark.kind !== "component") continue;
        const left = Math.max(0, x(mark.from_ns, width));
        const right = Math.min(width, x(mark.to_ns ?? domain.to, width));
        if (right <= left) continue;
        const color = mark.kind === "pipeline" ? shadeColor(pipelines.indexOf(String(mark.id)), theme.value) : colors.component;
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
      const lane = busy?.[index];
      if (lane) {
        const wide = width / lane.length;
        const full = (domain.to - domain.from) / lane.length;
        g.fillStyle = colors.dim;
        g.beginPath();
        lane.forEach((value, i) => {
          if (value > 0) {
            const h = Math.min(1, view.unit === "events" ? 1 : value / full) * 13;
            g.rect(i * wide, top + 38 - h, wide + 0.3, h);
          }
        });
        g.fill();
      }
      const wait = hatch(g, colors.text, colors.panel);
      for (const off of thread.off_cpu) {
        const left = x(off.from_ns, width);
        const right = x(off.to_ns, width);
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
  };
  const at = hover ? shown[Math.floor(hover.y / laneHeight)] : undefined;
  return (
    <Card
      id="threads"
      title="Threads"
      note="above: pipelines by the thread’s own log; below: samples, and hatched the time off the CPU"
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
            { name: "off CPU", number: true, value: (row) => row.off_cpu_ns, show: (row) => (row.off_cpu_ns > 0 ? duration(row.off_cpu_ns) : row.off_cpu.length ? "0" : "not recorded") },
            { name: "marks", number: true, value: (row) => row.marks_total },
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
          <Canvas draw={draw} height={height} label="Threads over time; the table has the sums" {...brushHandlers(domain, setHover, () => undefined)} />
        </div>
      </div>
      {view.isPart && <p class="dim small">{chosen ? "Samples and their cost are of the chosen part; marks, and time off the CPU in the table, are of the whole view." : "All sums here are of the whole view: sums over slices of time do not tell threads apart."}</p>}
      <OffCpu view={view} />
      {rows.length > shown.length && <p class="dim small">{rows.length - shown.length} more threads are in the table.</p>}
      {hover && at && (
        <Tip x={hover.clientX} y={hover.clientY}>
          <b>
            {clean(at.name, 30) || "thread"} {at.tid}, {duration(hover.time)}
          </b>
          {at.marks
            .filter((mark) => mark.from_ns <= hover.time && (mark.to_ns === null || mark.to_ns > hover.time))
            .slice(0, 6)
            .map((mark, index) => (
              <div key={index}>
                {mark.kind} {clean(mark.name, 50) || mark.id} <span class="dim">{mark.to_ns === null ? "" : duration(mark.to_ns - mark.from_ns)}</span>
              </div>
            ))}
          {at.off_cpu
            .filter((off) => off.from_ns <= hover.time && off.to_ns > hover.time)
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

// Of the chosen part, whatever the thread. Null: not told apart.
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

// Time off the CPU by operator: beside the cost, never part of it.
function OffCpu({ view }: { view: PageView }) {
  const off = view.profile.off_cpu;
  if (!off) return <p class="dim small">Time off the CPU was not recorded (tailor record -e off-cpu records it).</p>;
  return (
    <details class="elsewhere" open>
      <summary>
        Off the CPU: {duration(off.ns)} in {Math.round(off.waits).toLocaleString("en")} waits, of the whole view
      </summary>
      <DataTable
        caption="Time off the CPU by operator"
        rows={off.rows}
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
