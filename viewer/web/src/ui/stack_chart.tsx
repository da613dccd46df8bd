// Amounts over time, stacked: for the overview.
import { useState } from "preact/hooks";
import { Canvas, hatch, type Pen } from "../draw/canvas.tsx";
import { type Palette, palette, shadeColor } from "../draw/colors.ts";
import { theme } from "../state/theme.ts";
import { ticks, timeOfBucket } from "../model/format.ts";
import { Tip } from "./parts.tsx";

export interface Series {
  key: string;
  name: string;
  values: number[];
  grey?: boolean;
  hatched?: boolean; // belongs to nobody
}

// Something that happened at a moment.
export interface ChartMark {
  atMs: number;
  text: string;
}

export function seriesColor(series: Series, index: number): string {
  if (series.hatched) return palette(theme.value).unattributed;
  return series.grey ? palette(theme.value).component : shadeColor(index, theme.value);
}

export function SeriesSwatch({ series, index }: { series: Series; index: number }) {
  return <span class={`swatch ${series.hatched ? "unattributed" : ""}`} style={{ background: series.hatched ? undefined : seriesColor(series, index) }} />;
}

export function StackChart({ series, fromMs, bucketMs, height, unit, format, label, marks = [] }: { series: Series[]; fromMs: number; bucketMs: number; height: number; unit: string; format: (value: number) => string; label: string; marks?: ChartMark[] }) {
  const [hover, setHover] = useState<{ bucket: number; x: number; y: number } | null>(null);
  const colors = palette(theme.value);
  const buckets = Math.max(1, ...series.map((each) => each.values.length));
  const sums = Array.from({ length: buckets }, (_, i) => series.reduce((sum, each) => sum + (each.values[i] ?? 0), 0));
  const top = Math.max(1e-9, ...sums) * 1.08;
  const bottom = height - 20;
  const clock = (ms: number) => timeOfBucket(ms, bucketMs, bucketMs * buckets);
  const bucketOf = (mark: ChartMark) => Math.floor((mark.atMs - fromMs) / bucketMs);
  const shownMarks = marks.filter((mark) => bucketOf(mark) >= 0 && bucketOf(mark) < buckets);
  const draw = ({ g, width }: Pen) => {
    const wide = width / buckets;
    for (const value of ticks(0, top, 3)) {
      const y = Math.round(bottom - (value / top) * bottom) + 0.5;
      g.strokeStyle = colors.grid;
      g.beginPath();
      g.moveTo(0, y);
      g.lineTo(width, y);
      g.stroke();
    }
    const base = new Float64Array(buckets);
    series.forEach((each, index) => {
      const color = seriesColor(each, index);
      g.fillStyle = each.hatched ? hatch(g, color, colors.panel) : color;
      g.beginPath();
      each.values.forEach((value, i) => {
        const h = (value / top) * bottom;
        if (h > 0) g.rect(i * wide + 0.5, bottom - (base[i]! / top) * bottom - h, Math.max(0.6, wide - 1), h);
        base[i]! += value;
      });
      g.fill();
    });
    drawMoments(g, shownMarks.map((mark) => ((mark.atMs - fromMs) / bucketMs) * wide), bottom, colors);
    for (const value of ticks(0, top, 3)) {
      if (value === 0) continue;
      const y = bottom - (value / top) * bottom - 8;
      const text = `${format(value)} ${unit}`;
      g.fillStyle = colors.panel;
      g.globalAlpha = 0.8;
      g.fillRect(1, y - 7, g.measureText(text).width + 8, 14);
      g.globalAlpha = 1;
      g.fillStyle = colors.text;
      g.fillText(text, 4, y);
    }
    g.strokeStyle = colors.line;
    g.beginPath();
    g.moveTo(0, bottom + 0.5);
    g.lineTo(width, bottom + 0.5);
    g.stroke();
    const every = Math.max(1, Math.round(buckets / Math.max(2, width / 120)));
    g.fillStyle = colors.dim;
    for (let i = 0; i < buckets; i += every) g.fillText(clock(fromMs + i * bucketMs), Math.min(width - 60, i * wide), bottom + 11);
  };
  const rows = hover ? series.map((each, index) => ({ each, index, value: each.values[hover.bucket] ?? 0 })).filter((row) => row.value > 0) : [];
  return (
    <>
      <Canvas
        draw={draw}
        height={height}
        label={label}
        onPointerMove={(event: PointerEvent) => {
          const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
          setHover({ bucket: Math.min(buckets - 1, Math.floor(((event.clientX - box.left) / box.width) * buckets)), x: event.clientX, y: event.clientY });
        }}
        onPointerLeave={() => setHover(null)}
      />
      {hover && (
        <Tip x={hover.x} y={hover.y}>
          <b>{clock(fromMs + hover.bucket * bucketMs)}</b>
          {shownMarks
            .filter((mark) => bucketOf(mark) === hover.bucket)
            .slice(0, 4)
            .map((mark) => (
              <div key={mark.atMs}>{mark.text}</div>
            ))}
          {rows.slice(0, 8).map((row) => (
            <div key={row.each.key} class="tiprow">
              <SeriesSwatch series={row.each} index={row.index} />
              <span>{row.each.name}</span>
              <b>
                {format(row.value)} {unit}
              </b>
            </div>
          ))}
        </Tip>
      )}
    </>
  );
}

// A dashed line at each place, with a flag at its top: it is seen before any colour.
function drawMoments(g: CanvasRenderingContext2D, places: number[], bottom: number, colors: Palette) {
  g.strokeStyle = colors.text;
  g.fillStyle = colors.text;
  g.lineWidth = 1;
  g.setLineDash([4, 3]);
  for (const place of places) {
    const x = Math.round(place) + 0.5;
    g.beginPath();
    g.moveTo(x, 0);
    g.lineTo(x, bottom);
    g.stroke();
    g.beginPath();
    g.moveTo(x, 0);
    g.lineTo(x + 6, 4);
    g.lineTo(x, 8);
    g.fill();
  }
  g.setLineDash([]);
}
