// pipeline > operator > task > instruction, width by cost. A click zooms in; the path above leads back.
import { useMemo } from "preact/hooks";
import { mix, ownerColor, palette } from "../draw/colors.ts";
import { flame, type FlameLevel, type FlameNode } from "../model/flame.ts";
import { amount, percent } from "../model/format.ts";
import { shareOf } from "../model/totals.ts";
import { change, route } from "../state/route.ts";
import { theme } from "../state/theme.ts";
import { Icicle } from "./icicle.tsx";
import type { PageView } from "./page_view.ts";
import { Card, Choice, DataTable, shareColumns } from "./parts.tsx";

const orders: Record<string, FlameLevel[]> = {
  pipeline: ["pipeline", "operator", "task", "line"],
  operator: ["operator", "pipeline", "task", "line"],
};

export function FlameCard({ view, lines }: { view: PageView; lines: Map<string, string> }) {
  const table = view.table;
  const order = route.value.state["order"] === "operator" ? "operator" : "pipeline";
  const zoom = route.value.state["zoom"] ?? "";
  const root = useMemo(() => {
    if (!table) return null;
    const levels = view.profile.plans.length > 1 ? (["plan", ...orders[order]!] as FlameLevel[]) : orders[order]!;
    return flame(view.profile, view.owners, table, table.sumCells(view.filter), lines, levels, view.owner < 0 ? null : view.owner);
  }, [table, view, order, lines]);
  if (!root) return null;
  const path = pathTo(root, zoom);
  const top = path[path.length - 1]!;
  const colors = palette(theme.value);

  const color = (node: FlameNode): string => {
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
  return (
    <Card
      id="flame"
      title="Where the time went"
      note={view.owner >= 0 ? `only ${view.owners.at(view.owner).name}` : "width is cost; click to zoom"}
      tools={<Choice label="Order" value={order} options={[["pipeline", "Pipeline first"], ["operator", "Operator first"]]} onChange={(to) => change({ order: to === "pipeline" ? null : to, zoom: null })} />}
      table={() => <FlameTable view={view} root={top} onRow={choose} />}
    >
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
            <FlameNumbers view={view} node={node} />
          </>
        )}
      />
    </Card>
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

function FlameTable({ view, root, onRow }: { view: PageView; root: FlameNode; onRow: (node: FlameNode) => void }) {
  const rows: { node: FlameNode; depth: number }[] = [];
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
        ...shareColumns<{ node: FlameNode; depth: number }>((row) => shareOf({ weight: row.node.weight, samples: row.node.samples, kernel: 0, inferred: 0, shared: 0 }, view.totals)),
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
