// Operator activity over time (the paper's Figures 7 and 11): all of it stacked, and a lane for each operator,
// pipeline or thread below. Dragging chooses a part of the time, and everything else on the page follows.
import { useMemo, useState } from "preact/hooks";
import type { Access } from "../data/access.ts";
import type { Profile } from "../data/types.ts";
import { Canvas, hatch, type Pen } from "../draw/canvas.tsx";
import { type Palette, palette } from "../draw/colors.ts";
import { amount, duration, moment, name as clean, percent } from "../model/format.ts";
import { noMoreThan, type Part, type SampleTable } from "../model/samples.ts";
import type { Range } from "../model/sight.ts";
import type { WorkersLane } from "../model/workers.ts";
import { change, route } from "../state/route.ts";
import { theme } from "../state/theme.ts";
import { type Lane, type LaneBy, laneOfRow, lanesOf } from "./lanes.ts";
import { isPlanless, type PageView } from "./page_view.ts";
import { useWorkersOfSlices } from "./part_views.ts";
import { Card, Choice, DataTable, shareColumns, Swatch, Tip } from "./parts.tsx";
import { axisHeight, brushKey, drawAxis, drawBrush, drawMarks, type Hover, hoverIn, timeHandlers, zoomBy } from "./time_axis.ts";
import { showAll, useTimeKeys } from "./time_keys.ts";

const stackHeight = 104;
const stackTop = 20; // above the stack, for its scale
const laneHeight = 23;
const workersHeight = 44; // of the lane of threads, below the others
const mostLanes = 40;
const mostPlanless = 8; // threads, the dearest: functions are what is looked for
const mostSingle = 200; // samples in sight; of more the boxes have no room

// Which lanes there are to choose from, and which are chosen.
export function laneKinds(profile: Profile, table: SampleTable | null): { kinds: [LaneBy, string][]; by: LaneBy } {
  const kinds: [LaneBy, string][] = isPlanless(profile) ? [] : [["operator", "Operators"], ["pipeline", "Pipelines"]];
  if (!table?.slice) kinds.push(["thread", "Threads"]); // slices do not say which thread
  return { kinds, by: kinds.find(([kind]) => kind === route.value.state["lanes"])?.[0] ?? kinds[0]?.[0] ?? "operator" };
}

export function ActivityCard({ access, path, view }: { access: Access; path: string; view: PageView }) {
  useTimeKeys(view);
  const [pointer, setPointer] = useState<Hover | null>(null);
  const sight = view.sight ?? { from: 0, to: 1 };
  const table = view.tableOf(sight);
  const { kinds, by } = laneKinds(view.profile, table);
  const { from, to } = sight;
  // Few samples are shown one by one; so are the steps that they make together.
  const single = useMemo(() => table?.rowsOver(view.filter, from, to, mostSingle) ?? null, [table, from, to, view.filter.tid, view.filter.pipeline]);
  const columns = useMemo(() => {
    if (!table) return { buckets: 30, from: 0, to: 1 };
    const [first, last] = table.range({ ...view.filter, from, to });
    return table.columns(single ? 600 : Math.max(30, Math.min(300, Math.ceil((last - first) / 16))), from, to);
  }, [table, from, to, single]);
  const buckets = columns.buckets;
  const domain = useMemo(() => ({ from: columns.from, to: columns.to }), [columns]);
  const all = table ? lanesOf(view, by, table) : [];
  const planless = isPlanless(view.profile);
  if (planless) all.sort((a, b) => (b.inAll ?? b.share).weight - (a.inAll ?? a.share).weight);
  const lanes = all.slice(0, planless ? mostPlanless : mostLanes);
  const laneKeys = lanes.map((lane) => lane.key).join();
  const laneOf = useMemo(() => (table ? laneOfRow(by, table, lanes) : (): Part[] => []), [table, by, laneKeys]);
  // The thread and the pipeline that are chosen narrow the chart.
  const series = useMemo(() => {
    const sums = table?.timeline(view.filter, domain.from, domain.to, buckets, lanes.length, laneOf) ?? [];
    if (view.unit === "ns_on_cpu") noMoreThan(sums, (view.profile.recording?.cpus ?? 0) * ((domain.to - domain.from) / buckets));
    return sums;
  }, [table, laneOf, domain, buckets, view.filter.tid, view.filter.pipeline]);
  const workersOfSamples = useMemo(() => view.base.workers?.lane(view.filter, domain, buckets) ?? null, [view.base, domain, buckets, view.filter.tid, view.filter.pipeline]);
  const workersOfSlices = useWorkersOfSlices(access, path, view, domain, buckets);
  const allWorkers = workersOfSamples ?? workersOfSlices;
  // Of one thread the lanes say it.
  const workers = allWorkers && allWorkers.threads > 1 ? allWorkers : null;

  if (!table || !view.time) return null;
  const time = view.time;
  const bucketNs = (domain.to - domain.from) / buckets;
  const cores = view.unit === "ns_on_cpu" || view.unit === "ns_off_cpu";
  const workersTop = stackHeight + lanes.length * laneHeight;
  const height = workersTop + (workers ? workersHeight : 0) + axisHeight;
  const colors = palette(theme.value);
  const peaks = Array.from({ length: buckets }, (_, i) => series.reduce((sum, lane) => sum + lane[i]!, 0));
  const top = Math.max(1e-9, ...peaks);
  const laneTop = Math.max(1e-9, ...series.map((lane) => lane.reduce((a, b) => Math.max(a, b), 0)));
  const hover = hoverIn(pointer, domain);
  const x = (at: number, width: number) => ((at - domain.from) / (domain.to - domain.from)) * width;

  const draw = (pen: Pen) => {
    const { g, width } = pen;
    const wide = width / buckets;
    const bottom = height - axisHeight;
    drawAxis(pen, 0, bottom, domain, colors);
    const base = new Float64Array(buckets);
    lanes.forEach((lane, index) => {
      const row = series[index]!;
      const y0 = stackHeight + (index + 1) * laneHeight;
      g.fillStyle = lane.hatched ? hatch(g, lane.color, colors.panel) : lane.color;
      const dim = view.owner >= 0 && by === "operator" && !lane.selected;
      g.globalAlpha = dim ? 0.3 : 1;
      g.beginPath();
      for (let i = 0; i < buckets; i++) {
        const value = row[i]!;
        if (value === 0) continue;
        const h = (value / top) * (stackHeight - stackTop);
        const y = stackHeight - 3 - (base[i]! / top) * (stackHeight - stackTop) - h;
        g.rect(i * wide, y, wide + 0.4, h);
        base[i]! += value;
        if (single) continue;
        const laneH = Math.max(1, (value / laneTop) * (laneHeight - 5));
        g.rect(i * wide, y0 - 2 - laneH, wide + 0.4, laneH);
      }
      g.fill();
      g.globalAlpha = 1;
      g.strokeStyle = colors.line;
      g.lineWidth = 1;
      g.beginPath();
      g.moveTo(0, y0 - 1.5);
      g.lineTo(width, y0 - 1.5);
      g.stroke();
    });
    if (single) drawSamples(pen, colors, single, table, lanes, laneOf, (at) => x(at, width), (lane) => view.owner >= 0 && by === "operator" && !lane.selected);
    if (workers) drawWorkers(pen, workers, workersTop, colors);
    g.strokeStyle = colors.line;
    g.beginPath();
    g.moveTo(0, stackHeight - 2.5);
    g.lineTo(width, stackHeight - 2.5);
    g.stroke();
    const scale = cores ? `${(top / bucketNs).toFixed(1)} ${view.unit === "ns_on_cpu" ? "CPUs" : "threads"}` : `${amount((top / bucketNs) * 1e9, "events")} events/s`;
    g.globalAlpha = 0.8;
    g.fillStyle = colors.panel;
    g.fillRect(1, 1, g.measureText(scale).width + 8, 14);
    g.globalAlpha = 1;
    g.fillStyle = colors.dim;
    g.fillText(scale, 4, 8);
    drawBrush(pen, 0, bottom, domain, view.chosen, colors);
    drawMarks(pen, bottom, domain, colors);
    if (hover) {
      g.strokeStyle = colors.text;
      g.globalAlpha = 0.4;
      g.beginPath();
      g.moveTo(hover.x, 0);
      g.lineTo(hover.x, bottom);
      g.stroke();
      g.globalAlpha = 1;
    }
  };
  const laneAt = (y: number) => lanes[Math.floor((y - stackHeight) / laneHeight)];
  const handlers = timeHandlers(domain, { time, range: view.range, onHover: setPointer, onClick: (y) => laneAt(y)?.choose(), thingAt: (at, y) => spanAt(at, y) });
  // The sample under the mouse, in its lane.
  const sampleAt = (at: number, y: number) => {
    const lane = Math.floor((y - stackHeight) / laneHeight);
    const slack = (domain.to - domain.from) / 300;
    const near = single?.filter((row) => table.begin[row]! <= at + slack && table.end[row]! >= at - slack && laneOf(row).some(([index]) => index === lane)) ?? [];
    return near.sort((a, b) => Math.abs(table.end[a]! - at) - Math.abs(table.end[b]! - at))[0];
  };
  const spanAt = (at: number, y: number): Range | null => {
    const row = sampleAt(at, y);
    return row === undefined || table.end[row]! <= table.begin[row]! ? null : { from: table.begin[row]!, to: table.end[row]! };
  };
  const bucketAt = (at: number) => Math.min(buckets - 1, Math.floor((at - domain.from) / bucketNs));
  const pointed = hover && hover.y >= stackHeight ? sampleAt(hover.time, hover.y) : undefined;
  return (
    <Card
      id="activity"
      title="Activity over time"
      note={`${single ? "each sample alone" : `one column is ${duration(bucketNs)}`}; ${view.partOfTime && view.unit === "ns_off_cpu" ? "sums: waits that end in the chosen part" : "drag to choose, wheel to zoom"}`}
      tools={
        <>
          <TimeTools view={view} />
          {kinds.length > 1 && <Choice label="Lanes" value={by} options={kinds} onChange={(lanes) => change({ lanes: lanes === kinds[0]?.[0] ? null : lanes })} />}
        </>
      }
      table={() => (
        <DataTable
          caption={`Cost by ${by}`}
          rows={all}
          onRow={(row) => row.choose()}
          selected={(row) => row.selected}
          columns={[
            { name: by, value: (row) => row.name, show: (row) => <>{row.owners.length === 1 && <Swatch owner={view.owners.at(row.owners[0]!)} />} {row.name}</> },
            { name: "of", value: (row) => row.detail },
            ...shareColumns<Lane>((row) => row.share),
            { name: view.unitName, number: true, value: (row) => row.share.weight, show: (row) => amount(row.share.weight, view.unit) },
          ]}
        />
      )}
    >
      <div class="lanes">
        <div class="labels">
          <div class="all" style={{ height: `${stackHeight}px` }}>
            <b>{view.unit === "ns_off_cpu" ? "Threads waiting" : cores ? "CPUs busy" : "Events"}</b>
            <span class="dim">{amount(view.totals.weight, view.unit)}</span>
            <span class="dim">{view.totals.samples.toLocaleString("en")} samples</span>
          </div>
          {lanes.map((lane) => (
            <button type="button" key={lane.key} class={`lane ${lane.selected ? "selected" : ""}`} style={{ height: `${laneHeight}px` }} aria-pressed={lane.selected} onClick={lane.choose} title={`${lane.name} ${lane.detail}`}>
              <span class={`swatch ${lane.hatched ? "unattributed" : ""}`} style={{ background: lane.hatched ? undefined : lane.color }} />
              <span class="text">
                {lane.name} <span class="dim">{lane.detail}</span>
              </span>
              <b>{percent(lane.share.share)}</b>
            </button>
          ))}
          {workers && <WorkersLabel lane={workers} />}
          {all.length > lanes.length && <span class="dim more">{all.length - lanes.length} more in the table</span>}
        </div>
        <div
          class="chart"
          tabIndex={0}
          role="group"
          aria-label="Time range. Arrow keys move it, Shift and arrows change its end, plus and minus zoom, Escape clears it"
          onKeyDown={(event) => {
            if (brushKey(event, time, sight, view.chosen)) event.preventDefault();
          }}
        >
          <Canvas draw={draw} height={height} label={`Activity over ${duration(domain.to - domain.from)}, by ${by}`} {...handlers} />
        </div>
      </div>
      {hover && (
        <Tip x={hover.clientX} y={hover.clientY}>
          {pointed !== undefined ? (
            <SampleText table={table} row={pointed} view={view} lane={lanes[Math.floor((hover.y - stackHeight) / laneHeight)]!} />
          ) : workers && hover.y >= workersTop ? (
            <WorkersTip lane={workers} bucket={bucketAt(hover.time)} time={hover.time} bucketNs={bucketNs} />
          ) : (
            <TipRows lanes={lanes} series={series} bucket={bucketAt(hover.time)} time={hover.time} unit={view.unit} bucketNs={bucketNs} />
          )}
        </Tip>
      )}
    </Card>
  );
}

function TipRows({ lanes, series, bucket, time, unit, bucketNs }: { lanes: Lane[]; series: Float64Array[]; bucket: number; time: number; unit: string; bucketNs: number }) {
  const rows = lanes
    .map((lane, index) => ({ lane, value: series[index]?.[bucket] ?? 0 }))
    .filter((row) => row.value > 0)
    .sort((a, b) => b.value - a.value)
    .slice(0, 7);
  return (
    <>
      <b>at {moment(time, bucketNs)}</b>
      {rows.map(({ lane, value }) => (
        <div key={lane.key} class="tiprow">
          <span class={`swatch ${lane.hatched ? "unattributed" : ""}`} style={{ background: lane.hatched ? undefined : lane.color }} />
          <span>{lane.name}</span>
          <b>{unit === "events" ? amount(value, unit) : `${(value / bucketNs).toFixed(2)} ${unit === "ns_on_cpu" ? "CPUs" : "threads"}`}</b>
        </div>
      ))}
      {rows.length === 0 && <div class="dim">no sample</div>}
    </>
  );
}

// How many threads worked, and above these, hatched, how many waited. The lane is as high as all threads, so that its empty part is
// those that did neither.
function drawWorkers({ g, width }: Pen, { threads, working, waiting }: WorkersLane, top: number, colors: Palette) {
  const wide = width / working.length;
  const most = working.reduce((high, each, i) => Math.max(high, each + (waiting?.[i] ?? 0)), threads);
  const bottom = top + workersHeight - 3;
  const scale = (workersHeight - 7) / most;
  const put = (fill: string | CanvasPattern, from: (i: number) => number, count: ArrayLike<number>) => {
    g.fillStyle = fill;
    g.beginPath();
    for (let i = 0; i < count.length; i++) if (count[i]! > 0) g.rect(i * wide, bottom - (from(i) + count[i]!) * scale, wide + 0.4, count[i]! * scale);
    g.fill();
  };
  put(colors.dim, () => 0, working);
  if (waiting) put(hatch(g, colors.dim, colors.panel), (i) => working[i]!, waiting);
  g.strokeStyle = colors.line;
  g.beginPath();
  for (const y of [bottom + 1.5, bottom - threads * scale]) {
    g.moveTo(0, y);
    g.lineTo(width, y);
  }
  g.stroke();
}

const mean = (values: ArrayLike<number>) => {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return values.length > 0 ? sum / values.length : 0;
};

function WorkersLabel({ lane }: { lane: WorkersLane }) {
  const waited = lane.waiting ? `, ${mean(lane.waiting).toFixed(1)} wait` : "";
  return (
    <div class="all workers" style={{ height: `${workersHeight}px` }} title="Of the time in sight: threads with samples of CPU time, and of these, hatched, threads off the CPU, but for the run queue">
      <b>{lane.threads} threads</b>
      <span class="dim">
        on average {mean(lane.working).toFixed(1)} work{waited}
      </span>
    </div>
  );
}

function WorkersTip({ lane, bucket, time, bucketNs }: { lane: WorkersLane; bucket: number; time: number; bucketNs: number }) {
  return (
    <>
      <b>at {moment(time, bucketNs)}</b>
      <div>
        {(lane.working[bucket] ?? 0).toFixed(2)} of {lane.threads} threads work
      </div>
      {lane.waiting && <div>{(lane.waiting[bucket] ?? 0).toFixed(2)} wait off the CPU</div>}
    </>
  );
}

// Boxes of the time that samples stand for, each in its lane; a line where a sample stands for no time.
function drawSamples({ g, width }: Pen, colors: Palette, rows: number[], table: SampleTable, lanes: Lane[], laneOf: (row: number) => Part[], x: (at: number) => number, isDim: (lane: Lane) => boolean) {
  for (const row of rows) {
    // Whole pixels, so that a gap is seen between two boxes.
    const left = Math.round(Math.max(0, x(table.begin[row]!)));
    const right = Math.round(Math.min(width, x(table.end[row]!)));
    for (const [index, part] of laneOf(row)) {
      const lane = lanes[index];
      if (!lane) continue;
      g.globalAlpha = isDim(lane) ? 0.3 : 1;
      g.fillStyle = lane.hatched ? hatch(g, lane.color, colors.panel) : lane.color;
      const high = Math.max(3, (laneHeight - 8) * part);
      g.fillRect(left, stackHeight + (index + 1) * laneHeight - 3 - high, Math.max(1, right - left - 1), high);
    }
  }
  g.globalAlpha = 1;
}

function TimeTools({ view }: { view: PageView }) {
  const time = view.time!;
  return (
    <span class="zoom" role="group" aria-label="Time in sight">
      <button type="button" class="quiet" onClick={() => zoomBy(2, null, time)} disabled={!view.isZoomed} aria-label="More time" title="Key s, or the wheel">
        −
      </button>
      <button type="button" class="quiet" onClick={() => zoomBy(0.5, null, time)} aria-label="Less time, from nearer" title="Key w, or the wheel">
        +
      </button>
      <button type="button" class="quiet" onClick={showAll} disabled={!view.isZoomed} title="Key f">
        All time
      </button>
    </span>
  );
}

function SampleText({ table, row, view, lane }: { table: SampleTable; row: number; view: PageView; lane: Lane }) {
  const cell = table.cells[table.cell[row]!]!;
  const pipeline = view.profile.plans.flatMap((plan) => plan.pipelines.filter((pipe) => `${plan.plan_key ?? ""}:${pipe.id}` === `${cell.plan}:${cell.pipeline}`))[0];
  const facts = [
    `one sample, at ${moment(table.time[row]!, 1000)}`,
    `${view.unit === "events" ? "counts" : "stands for"} ${amount(table.weight[row]!, view.unit)}`,
    `thread ${table.tid[row]}`,
    ...(pipeline && cell.pipeline !== 0 ? [`pipeline ${cell.pipeline} ${clean(pipeline.name, 40)}`] : []),
    ...(cell.lines.length === 1 && cell.lines[0]![0] !== 0 ? [`line ${cell.lines[0]![0]}`] : []),
    ...(cell.kernel ? ["in the kernel"] : []),
  ];
  return (
    <>
      <b>{clean(lane.name, 60)}</b>
      {facts.map((fact) => (
        <div key={fact}>{fact}</div>
      ))}
    </>
  );
}
