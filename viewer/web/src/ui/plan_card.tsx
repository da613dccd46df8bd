// The plan as a graph: what an operator cost is its size, its filling and its number; estimated rows stand against
// measured ones where the engine reported those.
import { useMemo } from "preact/hooks";
import { divided } from "../model/divided.ts";
import { amount, count, interval, name as clean, percent } from "../model/format.ts";
import { detailOf, estimatedRows, measuredRows, operatorKey } from "../model/owners.ts";
import type { OperatorRow } from "../data/types.ts";
import { ownerColor } from "../draw/colors.ts";
import { theme } from "../state/theme.ts";
import { change } from "../state/route.ts";
import { BesideElapsed, type ElapsedChoice, elapsedNote, ElapsedTable, measures, withoutElapsed } from "./elapsed_plan.tsx";
import { costOfOwners, showSmallParts, smallParts, smallPartsText } from "./lanes.ts";
import type { PageView } from "./page_view.ts";
import { Card, Choice, DataTable, shareColumns } from "./parts.tsx";
import { type Layout, layoutPlan, type Placed } from "./plan_layout.ts";
import { type CostOf, PlanNode } from "./plan_node.tsx";
import { type PlanZoom, usePlanZoom } from "./plan_zoom.ts";

export function PlanCard({ view, elapsed }: { view: PageView; elapsed: ElapsedChoice | null }) {
  const plan = view.plan;
  const answer = elapsed?.wanted ? (elapsed.answer?.value ?? null) : null;
  const time = useMemo(() => (answer ? divided(answer, view.planKey) : null), [answer, view.planKey]);
  const whole = view.whole;
  // The layout follows the costs of the whole view, so that boxes do not move while a part of it is chosen.
  const layout = useMemo(
    () => (plan ? layoutPlan(plan.operators, (row) => row.share) : null),
    [plan],
  );
  const zoom = usePlanZoom(layout);
  if (!plan || !layout) return null;
  const missing = elapsed?.wanted ? withoutElapsed(elapsed, time) : null;
  const cost: CostOf = time ? time.costOf : (row) => view.costOf(view.owners.find(operatorKey(view.planKey, row.id)));
  const more = plan.executions_without_sample ?? 0;
  const measured = plan.operators.some((row) => measuredRows(row) !== null);
  const select = (id: number | null) => change({ op: id === null || id === view.operator ? null : id, line: null });
  return (
    <Card
      id="plan"
      title="Plan"
      note={`${clean(plan.name, 60)} · ${plan.executions} execution${plan.executions === 1 ? "" : "s"}${more > 0 ? `, ${count(more)} more without a sample` : ""}${time ? ` · ${elapsedNote(time, view)}` : ""}`}
      tools={[
        elapsed && <Choice key="of" label="Shares of" value={elapsed.wanted ? "elapsed" : "cpu"} options={measures} onChange={(to) => change({ of: to === "cpu" ? null : to })} />,
        <span key="zoom" class="zoom" role="group" aria-label="Size of the plan">
          <button type="button" class="quiet" onClick={() => zoom.by(1 / 1.25)} aria-label="Smaller" title="Key -, in the plan">
            −
          </button>
          <button type="button" class="quiet" onClick={() => zoom.by(1.25)} aria-label="Larger" title="Key +, in the plan">
            +
          </button>
          <button type="button" class="quiet" onClick={zoom.fit} aria-pressed={zoom.fitted} title="The whole plan, and back. Key f">
            Fit
          </button>
        </span>,
      ]}
      table={() => missing ?? (time ? <ElapsedTable divided={time} operator={view.operator} onOperator={select} /> : (
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
            { name: "estimated rows", number: true, value: (row) => estimatedRows(row) ?? -1, show: (row) => rowText(estimatedRows(row)) },
            // An engine that reports none of any operator needs no column to say so.
            ...(measured ? [{ name: "measured rows", number: true, value: (row: OperatorRow) => measuredRows(row) ?? -1, show: (row: OperatorRow) => rowText(measuredRows(row)) }] : []),
          ]}
        />
      ))}
    >
      {missing ?? <PlanGraph view={view} layout={layout} zoom={zoom} cost={cost} select={select} />}
      {!elapsed?.wanted && whole.weight > 0 && <NotInPlan view={view} />}
      {!missing && time && <BesideElapsed divided={time} />}
    </Card>
  );
}

const rowText = (rows: number | null) => (rows === null ? "not reported" : count(rows));

function PlanGraph({ view, layout, zoom, cost, select }: { view: PageView; layout: Layout; zoom: PlanZoom; cost: CostOf; select: (id: number | null) => void }) {
  const { scale } = zoom;
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
    <div
      class="plangraph"
      ref={zoom.box}
      onKeyDown={(event) => {
        if (event.key !== "+" && event.key !== "=" && event.key !== "-") return;
        if (event.ctrlKey || event.metaKey || event.altKey) return; // the browser's own zoom
        zoom.by(event.key === "-" ? 1 / 1.25 : 1.25);
        event.preventDefault();
      }}
    >
      <svg width={Math.ceil(layout.width * scale)} height={Math.ceil(layout.height * scale)} role="group" aria-label="Query plan">
        {layout.edges.map((edge) => {
          const { row } = layout.nodes.get(edge.from)!;
          const rows = measuredRows(row) ?? estimatedRows(row);
          const width = rows === null ? 1.2 : Math.max(1, Math.min(7, Math.log10(Math.max(1, rows))));
          const d = edge.points.map((p, i) => `${i ? "L" : "M"}${(p.x * scale).toFixed(1)},${(p.y * scale).toFixed(1)}`).join("");
          return <path key={`${edge.from}-${edge.to}`} d={d} class="edge" style={{ strokeWidth: `${Math.max(0.6, width * Math.min(1, scale))}px` }} />;
        })}
        {[...layout.nodes.values()].map((node) => (
          <PlanNode key={node.row.id} view={view} node={node} scale={scale} cost={cost(node.row)} dearest={dearest} onSelect={() => select(node.row.id)} onKey={(event) => key(event, node)} />
        ))}
      </svg>
    </div>
  );
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

// What the plan's operators do not own, beside it: it is part of the same whole. Small parts of the engine are one line.
function NotInPlan({ view }: { view: PageView }) {
  const small = smallParts(view);
  const rows = [...view.totals.owners.keys()]
    .filter((index) => !small.includes(index))
    .map((index) => ({ owner: view.owners.at(index), cost: view.costOf(index) }))
    .filter(({ owner }) => owner.kind !== "operator" || owner.plan !== view.planKey)
    .sort((a, b) => b.cost.weight - a.cost.weight);
  if (rows.length + small.length === 0) return <p class="beside">All of it belongs to the operators of this plan.</p>;
  const rest = costOfOwners(view.totals, small);
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
        {small.length > 0 && (
          <li>
            <button type="button" class="quiet more" onClick={showSmallParts} title={small.map((index) => view.owners.at(index).name).join(", ")}>
              {smallPartsText(small.length)}
            </button>
            <b>{percent(rest.share)}</b> <span class="dim">{interval(rest.low, rest.high)}</span>
          </li>
        )}
      </ul>
    </div>
  );
}
