// Accesses to memory over time, a picture for each kind of region (the paper's Figure 12): straight lines are scans,
// clouds are random accesses.
import { useMemo, useRef, useState } from "preact/hooks";
import type { Memory, Region, RegionRow } from "../data/types.ts";
import { Canvas, type Pen } from "../draw/canvas.tsx";
import { ownerColor, palette } from "../draw/colors.ts";
import { type Points, scatter } from "../draw/scatter.ts";
import { bytes, moment, name as clean, percent } from "../model/format.ts";
import { theme } from "../state/theme.ts";
import type { Loaded } from "./load.ts";
import type { PageView } from "./page_view.ts";
import { Card, DataTable, Message, shareColumns, Swatch } from "./parts.tsx";
import { axisHeight, drawAxis, drawBrush, drawMarks, type Hover, hoverIn, timeHandlers } from "./time_axis.ts";

interface Group {
  name: string;
  role: string;
  regions: number[];
  rows: number[];
  size: number; // of the largest region
  weight: number;
  pattern: string; // of all regions of the kind, over the time of the answer
}

const panelHeight = 132;
const mostPanels = 12;

// `part`: of the chosen part, where a server was asked for it.
export function MemoryCard({ view, memory, part }: { view: PageView; memory: Loaded<Memory>; part: Loaded<Memory> | null }) {
  const data = part?.value ?? memory.value;
  if (!data) {
    return (
      <Card id="memory" title="Memory accesses">
        {memory.loading ? <Message text="Reading the accesses…" /> : <Message text={memory.error?.message ?? "No accesses were recorded."} />}
      </Card>
    );
  }
  return <Accesses view={view} data={data} ofPart={!!part?.value} none={part?.error?.message} />;
}

function Accesses({ view, data, ofPart, none }: { view: PageView; data: Memory; ofPart: boolean; none: string | undefined }) {
  const sums = ofPart ? (view.owner >= 0 ? ", of the chosen part, all operators" : ", of the chosen part") : view.isPart || view.owner >= 0 ? ", of the whole view" : "";
  const groups = useMemo(() => groupsOf(view, data), [data, view]);
  const owners = useMemo(() => (data.operators ?? []).map((key) => view.owners.find(key)), [data, view.owners]);
  const inUse = useMemo(() => {
    const seen = new Set<number>();
    groups.forEach((group) => group.rows.forEach((row) => seen.add(data.points!.operator[row]!)));
    return [...seen].filter((each) => each >= 0).sort((a, b) => a - b);
  }, [groups]);
  const shown = groups.slice(0, mostPanels);
  const points = data.points;
  return (
    <Card
      id="memory"
      title="Memory accesses"
      note={points ? `${groups.reduce((sum, group) => sum + group.rows.length, 0).toLocaleString("en")} of ${points.total.toLocaleString("en")} accesses${points.count < points.total ? `, every ${Math.round(points.total / Math.max(1, points.count))}th of each region` : ""}` : undefined}
      table={() => (
        <>
          <h3>Kinds of regions{sums}</h3>
          <DataTable
            caption="Kinds of regions"
            rows={data.by_region ?? []}
            columns={[
              { name: "region", value: (row) => clean(row.name) },
              { name: "role", value: (row) => clean(row.role, 40) },
              { name: "regions", number: true, value: (row) => row.regions },
              { name: "pattern", value: (row) => patternText(row) },
              ...shareColumns<RegionRow>((row) => ({ share: row.share, low: row.share_low, high: row.share_high, samples: row.samples })),
              { name: "latency", number: true, value: (row) => row.latency_cycles, show: (row) => latencyText(row.latency_cycles) },
            ]}
          />
          <h3>By operator{sums}</h3>
          <DataTable
            caption="Accesses by operator and region"
            rows={data.rows}
            columns={[
              { name: "operator", value: (row) => clean(row.operator_name) },
              { name: "region", value: (row) => clean(row.region_name) },
              ...shareColumns<Memory["rows"][number]>((row) => ({ share: row.share, low: row.share_low, high: row.share_high, samples: row.samples })),
              { name: "latency", number: true, value: (row) => row.latency_cycles, show: (row) => latencyText(row.latency_cycles) },
              { name: "served by", value: (row) => servedBy(row.served_by) },
            ]}
          />
        </>
      )}
    >
      <p class="legend">
        {inUse.map((index) => {
          const owner = view.owners.at(owners[index]!);
          return owner ? (
            <span key={index}>
              <Swatch owner={owner} /> {owner.name} <span class="dim">{owner.detail}</span>
            </span>
          ) : null;
        })}
      </p>
      {view.filter.pipeline !== null && !points?.pipeline && <p class="dim small">The points are of all pipelines: this file does not say to which each belongs.</p>}
      {shown.length === 0 && <Message text={none ?? "No access in the chosen part lies in a registered region."} />}
      {shown.map((group) => (
        <Panel key={`${group.name} ${group.role}`} view={view} data={data} group={group} owners={owners} ofPart={ofPart} />
      ))}
      <p class="dim small">
        An address is known of {(data.addresses.recorded + data.addresses.decoded).toLocaleString("en")} of {data.samples.toLocaleString("en")} samples: {data.addresses.recorded.toLocaleString("en")} recorded with the sample, {data.addresses.decoded.toLocaleString("en")} computed from the instruction. In registered regions lie {data.addresses.in_regions.toLocaleString("en")}.
        {groups.length > shown.length ? ` ${groups.length - shown.length} more kinds of regions are in the table.` : ""}
      </p>
    </Card>
  );
}

function Panel({ view, data, group, owners, ofPart }: { view: PageView; data: Memory; group: Group; owners: number[]; ofPart: boolean }) {
  const [pointer, setPointer] = useState<Hover | null>(null);
  const kept = useRef<{ of: unknown[]; layer: OffscreenCanvas } | null>(null);
  const colors = palette(theme.value);
  const domain = view.sight ?? extent(data.points!.time_ns);
  const hover = hoverIn(pointer, domain);
  const points: Points = useMemo(() => ({ x: data.points!.time_ns, y: data.points!.offset, color: data.points!.operator }), [data]);
  const shades = useMemo(() => [...owners.map((index) => ownerColor(index < 0 ? undefined : view.owners.at(index), theme.value)), colors.component], [owners, theme.value]);
  const draw = (pen: Pen) => {
    const { g, width, ratio } = pen;
    const bottom = panelHeight - axisHeight;
    drawAxis(pen, 0, bottom, domain, colors);
    const size = group.rows.length > 30000 ? 1 : group.rows.length > 3000 ? 2 : 3;
    const pixels = Math.max(1, Math.round(ratio));
    const w = Math.round(width * pixels);
    const h = Math.round((bottom - 2) * pixels);
    if (w > 8 && h > 8) {
      // Pointing at something keeps the picture of before.
      const drawn = [points, group.rows, domain.from, domain.to, shades, w, h];
      if (!kept.current || kept.current.of.some((each, index) => each !== drawn[index])) {
        const { image } = scatter(points, group.rows, { x0: domain.from, x1: domain.to, y0: 0, y1: group.size }, w, h, shades, size * pixels);
        const layer = new OffscreenCanvas(w, h);
        layer.getContext("2d")!.putImageData(image, 0, 0);
        kept.current = { of: drawn, layer };
      }
      g.drawImage(kept.current.layer, 0, 1, width, bottom - 2);
    }
    g.strokeStyle = colors.line;
    g.strokeRect(0.5, 0.5, width - 1, bottom - 1);
    drawBrush(pen, 0, bottom, domain, view.chosen, colors);
    drawMarks(pen, bottom, domain, colors);
    if (hover !== null) {
      g.fillStyle = colors.dim;
      const text = moment(hover.time, (domain.to - domain.from) / 1000);
      g.fillText(text, width - g.measureText(text).width - 6, 10);
    }
  };
  return (
    <div class="memorypanel">
      <div class="labels">
        <b>{group.name}</b>
        <span class="dim">{group.role}</span>
        <span class="dim">
          {group.regions.length > 1 ? `${group.regions.length} regions, up to ` : ""}
          {bytes(group.size)}
        </span>
        <span class="dim">{group.rows.length.toLocaleString("en")} accesses</span>
        {group.pattern && (
          <span class="dim" title={`Of all regions of this kind together, in the ${ofPart ? "chosen part" : "whole view"}`}>
            {group.pattern}
          </span>
        )}
      </div>
      <div class="chart">
        <Canvas draw={draw} height={panelHeight} label={`Accesses to ${group.name} over time`} {...timeHandlers(domain, { time: view.time, range: view.range, onHover: setPointer })} />
      </div>
    </div>
  );
}

function extent(times: number[]): { from: number; to: number } {
  let to = 1;
  for (const time of times) if (time > to) to = time;
  return { from: 0, to };
}

// The points of the chosen part, by kind of region.
function groupsOf(view: PageView, data: Memory): Group[] {
  const points = data.points;
  const regions = data.regions ?? [];
  if (!points) return [];
  const wanted = view.owner < 0 ? null : (data.operators ?? []).indexOf(view.owners.at(view.owner).key);
  const groups = new Map<string, Group>();
  const { from, to, tid, pipeline } = view.filter;
  const inPipeline = pipelineTest(pipeline, data);
  const patterns = new Map((data.by_region ?? []).map((row) => [`${row.kind}/${row.name}`, patternText(row)]));
  const groupOf = regions.map((region: Region) => {
    const key = `${region.kind}/${region.name}`;
    let group = groups.get(key);
    if (!group) {
      group = { name: clean(region.name, 60), role: clean(region.role ?? "", 40), regions: [], rows: [], size: 0, weight: 0, pattern: patterns.get(key) ?? "" };
      groups.set(key, group);
    }
    return group;
  });
  const seen = new Set<number>();
  for (let i = 0; i < points.count; i++) {
    const region = points.region[i]!;
    const group = groupOf[region];
    if (!group) continue;
    const time = points.time_ns[i]!;
    if (time < from || time >= to || (tid !== null && points.tid[i] !== tid)) continue;
    if (wanted !== null && points.operator[i] !== wanted) continue;
    if (!inPipeline(i)) continue;
    group.rows.push(i);
    group.weight += points.weight[i]!;
    if (!seen.has(region)) {
      seen.add(region);
      group.regions.push(region);
      group.size = Math.max(group.size, regions[region]!.size);
    }
  }
  return [...groups.values()].filter((group) => group.rows.length > 0).sort((a, b) => b.weight - a.weight);
}

// Whether a point belongs to the chosen pipeline, which is "<plan>:<id>"; a point's plan is that of its operator.
function pipelineTest(chosen: string | null, data: Memory): (point: number) => boolean {
  const points = data.points!;
  const column = points.pipeline;
  if (chosen === null || !column) return () => true;
  const ofPlan = (data.operators ?? []).map((key) => key.startsWith(`operator:${chosen.slice(0, chosen.lastIndexOf(":"))}:`));
  const id = Number(chosen.slice(chosen.lastIndexOf(":") + 1));
  return (point) => column[point] === id && (ofPlan[points.operator[point]!] ?? false);
}

function patternText(row: RegionRow): string {
  if (row.pattern === "unknown") return "pattern not known: too few accesses";
  return row.stride_bytes ? `${row.pattern}, ${bytes(Math.abs(row.stride_bytes))} apart` : clean(row.pattern, 20);
}

const latencyText = (cycles: number) => (cycles > 0 ? `${cycles.toFixed(0)} cycles` : "not known");

function servedBy(levels: Record<string, number>): string {
  const total = Object.values(levels).reduce((a, b) => a + b, 0);
  if (!(total > 0)) return "not known";
  return Object.entries(levels)
    .sort((a, b) => b[1] - a[1])
    .map(([level, samples]) => `${level.replace("_", " ")} ${percent(samples / total)}`)
    .join(", ");
}
