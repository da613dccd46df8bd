// An operator's box in the plan's picture. Its text has the same size however small the box is: a smaller box has less of it.
import type { OperatorRow } from "../data/types.ts";
import { fit } from "../draw/canvas.tsx";
import { ownerColor } from "../draw/colors.ts";
import { interval, name as clean, percent } from "../model/format.ts";
import { detailOf, operatorKey, rowsOfOperator } from "../model/owners.ts";
import { theme } from "../state/theme.ts";
import type { PageView } from "./page_view.ts";
import type { Placed } from "./plan_layout.ts";

export type CostOf = (row: OperatorRow) => ReturnType<PageView["costOf"]>;

const leastSize = 11; // px, of all text

interface Text {
  kind: "title" | "share" | "detail" | "rows" | "rows off";
  text: string;
  x: number;
  y: number; // of the baseline
  size: number;
  end?: boolean; // x is where it ends
}

let pen: CanvasRenderingContext2D | null = null;

function penFor(size: number, weight: number): CanvasRenderingContext2D {
  pen ??= document.createElement("canvas").getContext("2d")!;
  pen.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return pen;
}

// What of an operator's texts has room in its box, line by line.
function textsFor(row: OperatorRow, share: string, width: number, height: number, scale: number): Text[] {
  const larger = Math.max(1, scale);
  const roomy = scale >= 0.95;
  const [titleSize, size] = roomy ? [12.5 * larger, leastSize * larger] : [leastSize, leastSize];
  const pad = roomy ? 10 * larger : Math.max(3, 10 * scale);
  const inner = width - 2 * pad;
  const name = clean(row.name, 80);
  const shareWide = penFor(titleSize, 700).measureText(share).width;
  const beside = inner - shareWide - 8;
  const nameWide = penFor(titleSize, 650).measureText(name).width;
  let bottom = height - (roomy ? 15 * larger : 6);
  let y = roomy ? 5 * larger : 2;
  const out: Text[] = [];
  const line = (high: number, texts: (baseline: number) => Text[]) => {
    if (y + high * 1.22 > bottom) return false;
    out.push(...texts(y + high * 0.98).filter((each) => each.text !== ""));
    y += high * 1.22;
    return true;
  };
  const shareAtEnd = (baseline: number): Text => ({ kind: "share", text: share, x: width - pad, y: baseline, size: titleSize, end: true });
  const title = (room: number, baseline: number): Text => ({ kind: "title", text: fit(penFor(titleSize, 650), name, room), x: pad, y: baseline, size: titleSize });
  if (roomy || nameWide <= beside) {
    if (!line(titleSize, (baseline) => [title(beside, baseline), shareAtEnd(baseline)])) return [];
  } else {
    // The share comes first if there is one line only.
    const two = y + 2 * titleSize * 1.22 <= bottom;
    if (two) line(titleSize, (baseline) => [title(inner, baseline)]);
    if (shareWide > inner || !line(titleSize, (baseline) => [{ ...shareAtEnd(baseline), x: pad, end: false }])) return out;
  }
  const detail = detailOf(row) || clean(row.kind, 60);
  line(size, (baseline) => [{ kind: "detail", text: fit(penFor(size, 400), detail, inner), x: pad, y: baseline, size }]);
  const rows = rowsOfOperator(row);
  if (rows.text !== "") {
    const weight = rows.off >= 4 ? 600 : 400;
    const text = rows.off >= 4 ? `⚠ ${rows.off.toFixed(0)}×: ${rows.text}` : rows.text;
    line(size, (baseline) => [{ kind: rows.off >= 4 ? "rows off" : "rows", text: fit(penFor(size, weight), text, inner), x: pad, y: baseline, size }]);
  }
  return out;
}

export function PlanNode({ view, node, scale, cost, dearest, onSelect, onKey }: { view: PageView; node: Placed; scale: number; cost: ReturnType<CostOf>; dearest: number; onSelect: () => void; onKey: (event: KeyboardEvent) => void }) {
  const { row } = node;
  const [width, height] = [node.width * scale, node.height * scale];
  const color = ownerColor(view.owners.at(view.owners.find(operatorKey(view.planKey, row.id))), theme.value);
  const selected = view.operator === row.id;
  const dimmed = view.operator !== null && !selected;
  const share = percent(cost.share);
  const rows = rowsOfOperator(row).text;
  const label = `${clean(row.name, 80)} ${detailOf(row)}: ${share}, 95 % interval ${interval(cost.low, cost.high)}, ${cost.samples.toFixed(0)} samples. ${rows}`;
  const strength = 0.06 + 0.3 * (cost.share / dearest);
  const roomy = scale >= 0.95;
  const margin = roomy ? 10 * scale : Math.min(6, 10 * scale);
  const inner = width - 2 * margin;
  const [barTop, barHigh] = roomy ? [height - 12 * scale, 5 * scale] : [height - 5, Math.min(3, height / 4)];
  const at = (value: number) => margin + inner * Math.min(1, value);
  const round = 7 * Math.min(1, scale);
  return (
    <g id={`plan-node-${row.id}`} class={`node ${selected ? "selected" : ""} ${dimmed ? "dimmed" : ""}`} transform={`translate(${(node.x * scale - width / 2).toFixed(1)},${(node.y * scale - height / 2).toFixed(1)})`} tabindex={0} role="button" aria-pressed={selected} onClick={onSelect} onKeyDown={onKey}>
      <title>{label}</title>
      <rect class="box" width={width} height={height} rx={round} />
      <rect width={width} height={height} rx={round} style={{ fill: color, fillOpacity: strength }} />
      <rect class="frame" width={width} height={height} rx={round} style={{ stroke: color }} />
      {textsFor(row, share, width, height, scale).map((text) => (
        <text key={text.kind} class={text.kind} x={text.x} y={text.y} text-anchor={text.end ? "end" : undefined} style={{ fontSize: `${text.size}px` }}>
          {text.text}
        </text>
      ))}
      <rect class="track" x={margin} y={barTop} width={inner} height={barHigh} rx="2" />
      <rect x={margin} y={barTop} width={at(cost.share) - margin} height={barHigh} rx="2" style={{ fill: color }} />
      <line class="whisker" x1={at(cost.low)} x2={at(cost.high)} y1={barTop + barHigh / 2} y2={barTop + barHigh / 2} />
      {[cost.low, cost.high].map((edge, index) => (
        <line key={index} class="whisker" x1={at(edge)} x2={at(edge)} y1={barTop - 0.5} y2={barTop + barHigh + 0.5} />
      ))}
    </g>
  );
}
