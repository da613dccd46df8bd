// Operator activity over time (the paper's Figures 7 and 11): all of it stacked, and a lane for each operator,
// pipeline or thread below. Dragging chooses a part of the time, and everything else on the page follows.
import { useMemo, useState } from "preact/hooks";
import { Canvas, hatch, type Pen } from "../draw/canvas.tsx";
import { ownerColor, palette, shadeColor } from "../draw/colors.ts";
import { amount, duration, name as clean, percent } from "../model/format.ts";
import type { Part, SampleTable } from "../model/samples.ts";
import { shareOf } from "../model/totals.ts";
import { change, route } from "../state/route.ts";
import { theme } from "../state/theme.ts";
import type { PageView } from "./page_view.ts";
import { Card, Choice, DataTable, shareColumns, Swatch, Tip } from "./parts.tsx";
import { axisHeight, brushHandlers, brushKey, drawAxis, drawBrush } from "./time_axis.ts";

type LaneBy = "operator" | "pipeline" | "thread";

interface Lane {
  key: string;
  name: string;
  detail: string;
  owner: number; // -1: none
  color: string;
  hatched: boolean;
  selected: boolean;
  share: { share: number; low: number; high: number; samples: number; weight: number };
  choose: () => void;
}

const stackHeight = 104;
const stackTop = 20; // above the stack, for its scale
const laneHeight = 23;
const mostLanes = 40;

// Lanes in the order of the plan; those without samples have none.
function lanesOf(view: PageView, by: LaneBy, table: SampleTable): Lane[] {
  const whole = view.whole;
  if (by === "operator") {
    return [...whole.owners.keys()]
      .sort((a, b) => a - b)
      .map((index): Lane => {
        const owner = view.owners.at(index);
        const own = owner.kind === "operator" && owner.plan === view.planKey;
        return {
          key: owner.key,
          name: owner.name,
          detail: owner.detail,
          owner: index,
          color: ownerColor(owner, theme.value),
          hatched: owner.kind === "unattributed",
          selected: index === view.owner,
          share: view.costOf(index),
          choose: () => own && change({ op: owner.id === view.operator ? null : owner.id, line: null }),
        };
      });
  }
  if (by === "pipeline") {
    const names = new Map(view.profile.plans.flatMap((plan) => plan.pipelines.map((pipe) => [`${plan.plan_key ?? ""}:${pipe.id}`, pipe.name])));
    const lanes = [...whole.pipelines.keys()].sort(byNumberAtEnd).map((key, index): Lane => {
      const id = Number(key.split(":").pop());
      return {
        key,
        name: id === 0 ? "no pipeline known" : `pipeline ${id}`,
        detail: clean(names.get(key) ?? "", 60),
        owner: -1,
        color: id === 0 ? palette(theme.value).component : shadeColor(index, theme.value),
        hatched: false,
        selected: key === view.filter.pipeline,
        share: shareOf(view.totals.pipelines.get(key), view.totals),
        choose: () => change({ pipe: key === view.filter.pipeline ? null : key }),
      };
    });
    return lanes;
  }
  const sums = new Map<number, { weight: number; samples: number }>();
  for (const tid of new Set(table.tid)) sums.set(tid, { weight: 0, samples: 0 });
  const kept = table.keptCells(view.filter);
  const [first, last] = table.range(view.filter);
  for (let i = first; i < last; i++) {
    if (!kept[table.cell[i]!]) continue;
    const sum = sums.get(table.tid[i]!)!;
    sum.weight += table.weight[i]!;
    sum.samples += table.samples[i]!;
  }
  return [...sums.entries()]
    .sort((a, b) => a[0] - b[0])
    .map(([tid, sum], index): Lane => ({
      key: String(tid),
      name: `thread ${tid}`,
      detail: "",
      owner: -1,
      color: shadeColor(index, theme.value),
      hatched: false,
      selected: tid === view.filter.tid,
      share: shareOf({ ...sum, kernel: 0, inferred: 0, shared: 0 }, view.totals),
      choose: () => change({ tid: tid === view.filter.tid ? null : tid }),
    }));
}

const byNumberAtEnd = (a: string, b: string) => Number(a.split(":").pop()) - Number(b.split(":").pop());

export function ActivityCard({ view }: { view: PageView }) {
  // The whole, or the chosen part as fine as it is known.
  const isPart = view.chosen.from !== null || view.chosen.to !== null;
  const zoomed = isPart && route.value.state["span"] === "part";
  const table = zoomed ? view.table : view.base.table;
  const kinds: [LaneBy, string][] = [["operator", "Operators"], ["pipeline", "Pipelines"]];
  if (!table?.slice) kinds.push(["thread", "Threads"]); // slices do not tell them apart
  const by = kinds.find(([kind]) => kind === route.value.state["lanes"])?.[0] ?? "operator";
  const [hover, setHover] = useState<{ time: number; x: number; y: number; clientX: number; clientY: number } | null>(null);
  const whole = { from: view.base.table?.from ?? 0, to: view.base.table?.to ?? 1 };
  const from = zoomed ? Math.min(Math.max(view.chosen.from ?? whole.from, whole.from), whole.to - 1) : whole.from;
  const to = zoomed ? Math.max(Math.min(view.chosen.to ?? whole.to, whole.to), from + 1) : whole.to;
  const columns = useMemo(() => {
    if (!table) return { buckets: 30, from: 0, to: 1 };
    const [first, last] = table.range({ ...view.filter, from, to });
    return table.columns(Math.max(30, Math.min(300, Math.ceil((last - first) / 16))), from, to);
  }, [table, from, to]);
  const buckets = columns.buckets;
  const domain = useMemo(() => ({ from: columns.from, to: columns.to }), [columns]);
  const all = table ? lanesOf(view, by, table) : [];
  const lanes = all.slice(0, mostLanes);
  // The thread and the pipeline that are chosen narrow the chart.
  const series = useMemo(() => {
    if (!table) return [];
    const place = new Map(lanes.map((lane, index) => [lane.key, index]));
    const nowhere: Part[] = [];
    const ofCell = table.cells.map((cell): Part[] => {
      if (by === "operator") return cell.owners.map(([index, part]) => [place.get(view.owners.at(index).key) ?? -1, part]);
      return cell.plan === "" ? nowhere : [[place.get(`${cell.plan}:${cell.pipeline}`) ?? -1, 1]];
    });
    const seriesOf = by === "thread" ? (row: number): Part[] => [[place.get(String(table.tid[row])) ?? -1, 1]] : (row: number) => ofCell[table.cell[row]!]!;
    return table.timeline(view.filter, domain.from, domain.to, buckets, lanes.length, seriesOf);
  }, [table, by, domain, buckets, view.filter.tid, view.filter.pipeline, lanes.length]);

  if (!table) return null;
  const bucketNs = (domain.to - domain.from) / buckets;
  const cores = view.unit === "ns_on_cpu" || view.unit === "ns_off_cpu";
  const height = stackHeight + lanes.length * laneHeight + axisHeight;
  const colors = palette(theme.value);
  const peaks = Array.from({ length: buckets }, (_, i) => series.reduce((sum, lane) => sum + lane[i]!, 0));
  const top = Math.max(1e-9, ...peaks);
  const laneTop = Math.max(1e-9, ...series.map((lane) => lane.reduce((a, b) => Math.max(a, b), 0)));

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
    if (!zoomed) drawBrush(pen, 0, bottom, domain, view.chosen, colors);
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
  const handlers = brushHandlers(domain, setHover, (y) => laneAt(y)?.choose());
  return (
    <Card
      id="activity"
      title="Activity over time"
      note={`one column is ${duration(bucketNs)}; ${isPart && view.unit === "ns_off_cpu" ? "the sums are of waits that end in the chosen part" : "drag to choose a part"}`}
      tools={
        <>
          {isPart && <Choice label="Time shown" value={zoomed ? "part" : "all"} options={[["all", "All time"], ["part", "Chosen time"]]} onChange={(span) => change({ span: span === "all" ? null : span })} />}
          <Choice label="Lanes" value={by} options={kinds} onChange={(lanes) => change({ lanes: lanes === "operator" ? null : lanes })} />
        </>
      }
      table={() => (
        <DataTable
          caption={`Cost by ${by}`}
          rows={all}
          onRow={(row) => row.choose()}
          selected={(row) => row.selected}
          columns={[
            { name: by, value: (row) => row.name, show: (row) => <>{row.owner >= 0 && <Swatch owner={view.owners.at(row.owner)} />} {row.name}</> },
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
          {all.length > lanes.length && <span class="dim more">{all.length - lanes.length} more in the table</span>}
        </div>
        <div
          class="chart"
          tabIndex={0}
          role="group"
          aria-label="Time range. Arrow keys move it, Shift and arrows change its end, plus and minus zoom, Escape clears it"
          onKeyDown={(event) => {
            if (brushKey(event, whole, view.chosen)) event.preventDefault();
          }}
        >
          <Canvas draw={draw} height={height} label={`Activity over ${duration(domain.to - domain.from)}, by ${by}`} {...handlers} />
        </div>
      </div>
      {hover && (
        <Tip x={hover.clientX} y={hover.clientY}>
          <TipRows lanes={lanes} series={series} bucket={Math.min(buckets - 1, Math.floor((hover.time - domain.from) / bucketNs))} time={hover.time} unit={view.unit} bucketNs={bucketNs} />
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
      <b>at {duration(time)}</b>
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
