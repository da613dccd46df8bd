// The plan as a graph: what an operator cost is its size, its filling and its number; estimated rows stand against
// measured ones where the engine reported those.
import { useMemo } from "preact/hooks";
import { amount, count, interval, name as clean, percent } from "../model/format.ts";
import { detailOf, operatorKey, rowsOf } from "../model/owners.ts";
import type { OperatorRow } from "../data/types.ts";
import { ownerColor } from "../draw/colors.ts";
import { theme } from "../state/theme.ts";
import { change } from "../state/route.ts";
import type { PageView } from "./page_view.ts";
import { Card, DataTable, shareColumns } from "./parts.tsx";
import { type Layout, layoutPlan, type Placed } from "./plan_layout.ts";

const estimatedKeys = ["estimated_rows"];
const measuredKeys = ["measured_rows", "actual_rows", "rows"];

export function PlanCard({ view }: { view: PageView }) {
  const plan = view.plan;
  const whole = view.whole;
  // The layout follows the costs of the whole view, so that boxes do not move while a part of it is chosen.
  const layout = useMemo(
    () => (plan ? layoutPlan(plan.operators, (row) => row.share) : null),
    [plan],
  );
  if (!plan || !layout) return null;
  const cost = (row: OperatorRow) => view.costOf(view.owners.find(operatorKey(view.planKey, row.id)));
  const select = (id: number | null) => change({ op: id === null || id === view.operator ? null : id, line: null });
  return (
    <Card
      id="plan"
      title="Plan"
      note={`${clean(plan.name, 60)} · ${plan.executions} execution${plan.executions === 1 ? "" : "s"}`}
      table={() => (
        <DataTable
          caption="Operators of the plan with their costs"
          rows={plan.operators}
          onRow={(row) => select(row.id)}
          selected={(row) => row.id === view.operator}
          columns={[
            { name: "operator", value: (row) => clean(row.name, 80), show: (row) => <span class="below" style={{ paddingLeft: `${Math.min(20, row.depth) * 10}px` }}>{clean(row.name, 80)}</span> },
            { name: "of", value: (row) => detailOf(row) },
            ...shareColumns<OperatorRow>(cost),
            { name: view.unitName, number: true, value: (row) => cost(row).weight, show: (row) => amount(cost(row).weight, view.unit) },
            { name: "estimated rows", number: true, value: (row) => rowsOf(row, estimatedKeys) ?? -1, show: (row) => rowText(rowsOf(row, estimatedKeys)) },
            { name: "measured rows", number: true, value: (row) => rowsOf(row, measuredKeys) ?? -1, show: (row) => rowText(rowsOf(row, measuredKeys)) },
          ]}
        />
      )}
    >
      <PlanGraph view={view} layout={layout} cost={cost} select={select} />
      {whole.weight > 0 && <NotInPlan view={view} />}
    </Card>
  );
}

const rowText = (rows: number | null) => (rows === null ? "not reported" : count(rows));

function PlanGraph({ view, layout, cost, select }: { view: PageView; layout: Layout; cost: (row: OperatorRow) => ReturnType<PageView["costOf"]>; select: (id: number | null) => void }) {
  const dearest = Math.max(1e-9, ...[...layout.nodes.values()].map((node) => cost(node.row).share));
  const key = (event: KeyboardEvent, node: Placed) => {
    const to = neighbour(layout, node, event.key);
    if (event.key === "Enter" || event.key === " ") select(node.row.id);
    else if (to !== null) document.getElementById(`plan-node-${to}`)?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="plangraph">
      <svg viewBox={`0 0 ${layout.width} ${layout.height}`} style={{ maxWidth: `${layout.width * 1.25}px` }} role="group" aria-label="Query plan">
        {layout.edges.map((edge) => {
          const rows = rowsOf(layout.nodes.get(edge.from)!.row, [...measuredKeys, ...estimatedKeys]);
          const width = rows === null ? 1.2 : Math.max(1, Math.min(7, Math.log10(Math.max(1, rows))));
          const d = edge.points.map((p, i) => `${i ? "L" : "M"}${p.x.toFixed(1)},${p.y.toFixed(1)}`).join("");
          return <path key={`${edge.from}-${edge.to}`} d={d} class="edge" style={{ strokeWidth: `${width}px` }} />;
        })}
        {[...layout.nodes.values()].map((node) => (
          <PlanNode key={node.row.id} view={view} node={node} cost={cost(node.row)} dearest={dearest} onSelect={() => select(node.row.id)} onKey={(event) => key(event, node)} />
        ))}
      </svg>
    </div>
  );
}

function PlanNode({ view, node, cost, dearest, onSelect, onKey }: { view: PageView; node: Placed; cost: ReturnType<PageView["costOf"]>; dearest: number; onSelect: () => void; onKey: (event: KeyboardEvent) => void }) {
  const { row, width, height } = node;
  const color = ownerColor(view.owners.at(view.owners.find(operatorKey(view.planKey, row.id))), theme.value);
  const selected = view.operator === row.id;
  const dimmed = view.operator !== null && !selected;
  const left = node.x - width / 2;
  const top = node.y - height / 2;
  const inner = width - 20;
  const bar = (value: number) => (inner * Math.min(1, value)) / 1;
  const estimated = rowsOf(row, estimatedKeys);
  const measured = rowsOf(row, measuredKeys);
  const off = estimated !== null && measured !== null ? Math.max(estimated, measured, 1) / Math.max(1, Math.min(estimated, measured)) : 1;
  const rows = estimated === null && measured === null ? "" : `${measured === null ? "" : `${count(measured)} rows, `}est. ${estimated === null ? "unknown" : count(estimated)}${measured === null ? " rows" : ""}`;
  const label = `${clean(row.name, 80)} ${detailOf(row)}: ${percent(cost.share)}, 95 % interval ${interval(cost.low, cost.high)}, ${cost.samples.toFixed(0)} samples. ${rows}`;
  const strength = 0.06 + 0.3 * (cost.share / dearest);
  return (
    <g id={`plan-node-${row.id}`} class={`node ${selected ? "selected" : ""} ${dimmed ? "dimmed" : ""}`} transform={`translate(${left.toFixed(1)},${top.toFixed(1)})`} tabindex={0} role="button" aria-pressed={selected} onClick={onSelect} onKeyDown={onKey}>
      <title>{label}</title>
      <rect class="box" width={width} height={height} rx="7" />
      <rect width={width} height={height} rx="7" style={{ fill: color, fillOpacity: strength }} />
      <rect class="frame" width={width} height={height} rx="7" style={{ stroke: color }} />
      <text class="title" x="10" y="19">
        {fitText(row.name, width - 74, 7.0)}
      </text>
      <text class="share" x={width - 10} y="19" text-anchor="end">
        {percent(cost.share)}
      </text>
      <text class="detail" x="10" y="34">
        {fitText(detailOf(row) || row.kind, width - 16, 5.9)}
      </text>
      <rect class="track" x="10" y={height - 13} width={inner} height="5" rx="2" />
      <rect x="10" y={height - 13} width={bar(cost.share)} height="5" rx="2" style={{ fill: color }} />
      <line class="whisker" x1={10 + bar(cost.low)} x2={10 + bar(cost.high)} y1={height - 10.5} y2={height - 10.5} />
      <line class="whisker" x1={10 + bar(cost.low)} x2={10 + bar(cost.low)} y1={height - 13.5} y2={height - 7.5} />
      <line class="whisker" x1={10 + bar(cost.high)} x2={10 + bar(cost.high)} y1={height - 13.5} y2={height - 7.5} />
      {rows && (
        <text class={`rows ${off >= 4 ? "off" : ""}`} x="10" y="48">
          {fitText(off >= 4 ? `⚠ ${off.toFixed(0)}×: ${rows}` : rows, width - 16, 5.7)}
        </text>
      )}
    </g>
  );
}

// About as many letters as fit: SVG cuts nothing by itself.
function fitText(text: string, width: number, letter: number): string {
  const most = Math.max(1, Math.floor(width / letter));
  const plain = clean(text, 200);
  return plain.length <= most ? plain : `${plain.slice(0, most - 1)}…`;
}

function neighbour(layout: Layout, node: Placed, key: string): number | null {
  const parents = layout.edges.filter((edge) => edge.from === node.row.id).map((edge) => edge.to);
  const children = layout.edges.filter((edge) => edge.to === node.row.id).map((edge) => edge.from);
  if (key === "ArrowUp") return parents[0] ?? null;
  if (key === "ArrowDown") return children[0] ?? null;
  if (key !== "ArrowLeft" && key !== "ArrowRight") return null;
  const row = [...layout.nodes.values()].filter((each) => Math.abs(each.y - node.y) < 40).sort((a, b) => a.x - b.x);
  const at = row.findIndex((each) => each.row.id === node.row.id) + (key === "ArrowLeft" ? -1 : 1);
  return row[at]?.row.id ?? null;
}

// What the plan's operators do not own, beside it: it is part of the same whole.
function NotInPlan({ view }: { view: PageView }) {
  const rows = [...view.totals.owners.keys()]
    .map((index) => ({ owner: view.owners.at(index), cost: view.costOf(index) }))
    .filter(({ owner }) => owner.kind !== "operator" || owner.plan !== view.planKey)
    .sort((a, b) => b.cost.weight - a.cost.weight);
  if (rows.length === 0) return <p class="beside">All of it belongs to the operators of this plan.</p>;
  return (
    <div class="beside">
      <h3>Beside the plan’s operators</h3>
      <ul>
        {rows.slice(0, 8).map(({ owner, cost }) => (
          <li key={owner.key}>
            <span class={`swatch ${owner.kind}`} style={{ background: owner.kind === "unattributed" ? undefined : ownerColor(owner, theme.value) }} />
            <span class="what">
              {owner.kind === "operator" ? `${owner.name} (another plan)` : owner.name}
            </span>
            <b>{percent(cost.share)}</b> <span class="dim">{interval(cost.low, cost.high)}</span>
          </li>
        ))}
        {rows.length > 8 && <li class="dim">and {rows.length - 8} more: see the table of the activity</li>}
      </ul>
    </div>
  );
}
