// pipeline > operator > task > instruction, width by cost. A click zooms in; the path above leads back. A server divides the elapsed
// time in the same way.
import { useMemo } from "preact/hooks";
import type { Access } from "../data/access.ts";
import { mix, ownerColor, palette } from "../draw/colors.ts";
import { elapsedFlame } from "../model/elapsed_flame.ts";
import { flame, type FlameLevel, type FlameNode } from "../model/flame.ts";
import { amount, duration, percent } from "../model/format.ts";
import { shareOf } from "../model/totals.ts";
import { change, route } from "../state/route.ts";
import { theme } from "../state/theme.ts";
import { measures } from "./elapsed_plan.tsx";
import { Icicle } from "./icicle.tsx";
import type { PageView } from "./page_view.ts";
import { useElapsedFlame } from "./part_views.ts";
import { Card, Choice, type Column, DataTable, Message, shareColumns } from "./parts.tsx";

const orders: Record<string, FlameLevel[]> = {
  pipeline: ["pipeline", "operator", "task", "line"],
  operator: ["operator", "pipeline", "task", "line"],
};

// `elapsed`: whether the elapsed time is wanted; null: it is not to be had here.
export function FlameCard({ access, path: address, view, lines, elapsed }: { access: Access; path: string; view: PageView; lines: Map<string, string>; elapsed: boolean | null }) {
  const table = view.table;
  const order = route.value.state["order"] === "operator" ? "operator" : "pipeline";
  const zoom = route.value.state["zoom"] ?? "";
  const levels: FlameLevel[] = view.profile.plans.length > 1 ? ["plan", ...orders[order]!] : orders[order]!;
  const owner = view.owner < 0 ? null : view.owner;
  const ofElapsed = elapsed === true;
  const answer = useElapsedFlame(access, address, view, ofElapsed, levels);
  const root = useMemo(() => {
    if (ofElapsed) return answer?.value ? elapsedFlame(answer.value.root, view.owners, lines, owner) : null;
    return table && flame(view.profile, view.owners, table, table.sumCells(view.filter), lines, levels, owner);
  }, [table, view, order, lines, ofElapsed, answer?.value]);
  if (!root && !ofElapsed) return null;
  const path = root ? pathTo(root, zoom) : [];
  const top = path[path.length - 1];
  const colors = palette(theme.value);

  const color = (node: FlameNode): string => {
    if (node.kind === "idle" || node.kind === "rest") return mix(colors.panel, colors.dim, 0.2);
    if (node.kind === "all" || node.kind === "plan" || node.kind === "pipeline") return mix(colors.panel, colors.dim, 0.35);
    const base = ownerColor(node.owner < 0 ? undefined : view.owners.at(node.owner), theme.value);
    if (node.kind === "task") return mix(base, colors.panel, 0.25);
    if (node.kind === "line" || node.kind === "shared") return mix(base, colors.panel, 0.5);
    return base;
  };
  const choose = (node: FlameNode) => {
    if (node.kind === "line") change({ tab: "code", line: node.line, plan: node.plan });
    else change({ zoom: node.key === zoom ? null : node.key });
  };
  const only = view.owner >= 0 ? `only ${view.owners.at(view.owner).name}` : "";
  return (
    <Card
      id="flame"
      title="Where the time went"
      note={ofElapsed ? elapsedNote(view, root, only) : only || "width is cost; click to zoom"}
      tools={[
        elapsed !== null && <Choice key="of" label="Flame graph of" value={ofElapsed ? "elapsed" : "cpu"} options={measures} onChange={(to) => change({ of: to === "cpu" ? null : to, zoom: null })} />,
        <Choice key="order" label="Order" value={order} options={[["pipeline", "Pipeline first"], ["operator", "Operator first"]]} onChange={(to) => change({ order: to === "pipeline" ? null : to, zoom: null })} />,
      ]}
      table={() => (root && top ? <FlameTable view={view} root={top} whole={ofElapsed ? root.weight : null} onRow={choose} /> : <NoElapsed error={answer?.error?.message} />)}
    >
      {root && top ? <Graph view={view} root={root} path={path} top={top} ofElapsed={ofElapsed} color={color} choose={choose} /> : <NoElapsed error={answer?.error?.message} />}
    </Card>
  );
}

const NoElapsed = ({ error }: { error: string | undefined }) => (error === undefined ? <Message text="Dividing the elapsed time…" /> : <Message kind="error" text={error} />);

function elapsedNote(view: PageView, root: FlameNode | null, only: string): string {
  const { tid, pipeline } = view.chosen;
  const all = tid !== null || pipeline !== null ? ", of all threads and pipelines" : "";
  return [only, root ? `width is a part of ${duration(root.weight)} of elapsed time${all}` : ""].filter((each) => each !== "").join(": ");
}

interface GraphProps {
  view: PageView;
  root: FlameNode;
  path: FlameNode[];
  top: FlameNode;
  ofElapsed: boolean;
  color: (node: FlameNode) => string;
  choose: (node: FlameNode) => void;
}

function Graph({ view, root, path, top, ofElapsed, color, choose }: GraphProps) {
  return (
    <>
      <nav class="crumbs" aria-label="Zoomed into">
        {path.map((node, index) => (
          <button type="button" key={node.key} disabled={index === path.length - 1} onClick={() => change({ zoom: node.key || null })}>
            {node.name} <span class="dim">{percent(root.weight ? node.weight / root.weight : 0)}</span>
          </button>
        ))}
      </nav>
      <Icicle
        top={top}
        look={(node) => ({ fill: color(node), hatched: node.kind === "unattributed" })}
        label="Flame graph; the table has the same content"
        onChoose={choose}
        tip={(node) => (
          <>
            <b>{node.name}</b>
            <div class="dim">{node.kind}</div>
            {ofElapsed ? <ElapsedNumbers node={node} whole={root.weight} /> : <FlameNumbers view={view} node={node} />}
          </>
        )}
      />
    </>
  );
}

const partOf = (weight: number, whole: number) => (whole > 0 ? weight / whole : 0);

// Of the time in which no thread worked there are no samples.
function ElapsedNumbers({ node, whole }: { node: FlameNode; whole: number }) {
  return (
    <div>
      {percent(partOf(node.weight, whole))} · {duration(node.weight)}
      {node.kind === "idle" ? "" : ` · ${node.samples.toFixed(0)} samples`}
    </div>
  );
}

function FlameNumbers({ view, node }: { view: PageView; node: FlameNode }) {
  const cost = shareOf({ weight: node.weight, samples: node.samples, kernel: 0, inferred: 0, shared: 0 }, view.totals);
  return (
    <div>
      {percent(cost.share)} <span class="dim">({(cost.low * 100).toFixed(1)}–{(cost.high * 100).toFixed(1)} %)</span> · {amount(node.weight, view.unit)} · {node.samples.toFixed(0)} samples
    </div>
  );
}

interface FlameRow {
  node: FlameNode;
  depth: number;
}

const elapsedColumns = (whole: number): Column<FlameRow>[] => [
  { name: "share", number: true, value: ({ node }) => node.weight, show: ({ node }) => percent(partOf(node.weight, whole)) },
  { name: "elapsed time", number: true, value: ({ node }) => node.weight, show: ({ node }) => duration(node.weight) },
  { name: "samples", number: true, value: ({ node }) => node.samples, show: ({ node }) => (node.kind === "idle" ? "" : String(Math.round(node.samples * 10) / 10)) },
];

// `whole`: all of the elapsed time; null: it is of CPU time.
function FlameTable({ view, root, whole, onRow }: { view: PageView; root: FlameNode; whole: number | null; onRow: (node: FlameNode) => void }) {
  const rows: FlameRow[] = [];
  const walk = (node: FlameNode, depth: number) => {
    rows.push({ node, depth });
    node.children.forEach((child) => walk(child, depth + 1));
  };
  walk(root, 0);
  return (
    <DataTable
      caption="The flame graph as rows"
      rows={rows}
      onRow={(row) => onRow(row.node)}
      columns={[
        { name: "what", value: (row) => row.node.name, show: (row) => <span class="below" style={{ paddingLeft: `${row.depth * 14}px` }}>{row.node.name}</span> },
        { name: "level", value: (row) => row.node.kind },
        ...(whole === null ? shareColumns<FlameRow>((row) => shareOf({ weight: row.node.weight, samples: row.node.samples, kernel: 0, inferred: 0, shared: 0 }, view.totals)) : elapsedColumns(whole)),
      ]}
    />
  );
}

function pathTo(root: FlameNode, key: string): FlameNode[] {
  const path = [root];
  let at = root;
  while (at.key !== key) {
    const next = at.children.find((child) => key === child.key || key.startsWith(`${child.key}/`));
    if (!next) return key.startsWith(at.key) && at !== root ? path : [root];
    path.push(next);
    at = next;
  }
  return path;
}
