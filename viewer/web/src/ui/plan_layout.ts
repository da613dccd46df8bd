// Where the operators of a plan stand and how the lines between them run: dagre, what produces below what consumes.
import dagre from "@dagrejs/dagre";
import type { OperatorRow } from "../data/types.ts";

export interface Placed {
  row: OperatorRow;
  x: number; // of the centre
  y: number;
  width: number;
  height: number;
}

export interface Edge {
  from: number; // id of the input
  to: number;
  points: { x: number; y: number }[];
}

export interface Layout {
  nodes: Map<number, Placed>;
  edges: Edge[];
  width: number;
  height: number;
}

// The dearer an operator, the larger its box.
export function boxSize(share: number): { width: number; height: number } {
  const size = Math.sqrt(Math.max(0, Math.min(1, share)));
  return { width: 160 + 64 * size, height: 72 + 24 * size };
}

export function layoutPlan(operators: OperatorRow[], shareOf: (row: OperatorRow) => number): Layout {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 30, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  const known = new Set(operators.map((row) => row.id));
  for (const row of operators) graph.setNode(String(row.id), boxSize(shareOf(row)));
  for (const row of operators) {
    for (const input of row.inputs) if (known.has(input) && input !== row.id) graph.setEdge(String(row.id), String(input));
  }
  dagre.layout(graph);
  const nodes = new Map<number, Placed>();
  for (const row of operators) {
    const at = graph.node(String(row.id)) as { x: number; y: number; width: number; height: number };
    nodes.set(row.id, { row, x: at.x, y: at.y, width: at.width, height: at.height });
  }
  const edges = graph.edges().map((edge): Edge => ({
    from: Number(edge.w),
    to: Number(edge.v),
    points: (graph.edge(edge) as { points: { x: number; y: number }[] }).points,
  }));
  const size = graph.graph() as { width?: number; height?: number };
  return { nodes, edges, width: size.width ?? 200, height: size.height ?? 100 };
}
