// The flame graph of the elapsed time: the tree that a server divides it into, as the page draws trees of costs.
import type { FlameTree } from "../data/types.ts";
import type { FlameNode } from "./flame.ts";
import { name as clean } from "./format.ts";
import type { Owners } from "./owners.ts";

const kinds: FlameNode["kind"][] = ["all", "plan", "pipeline", "operator", "task", "line", "rest", "component", "unattributed", "idle"];
const ofPlans = new Set<string>(["plan", "pipeline", "operator", "task", "line"]); // their keys are "<kind>:<plan>:..."
const owning = new Set<string>(["operator", "component", "unattributed"]);

// `lines`: texts by "<plan>:<line>". `owner`: only what this one owns; null: all of the elapsed time.
export function elapsedFlame(tree: FlameTree, owners: Owners, lines: Map<string, string>, owner: number | null): FlameNode {
  const root = { ...nodeOf(tree, null, owners, lines), name: "all of the elapsed time" };
  if (owner === null) return root;
  return onlyOf(root, owner) ?? { ...root, weight: 0, samples: 0, children: [] };
}

function nodeOf(tree: FlameTree, above: FlameNode | null, owners: Owners, lines: Map<string, string>): FlameNode {
  const kind = kinds.find((each) => each === tree.kind) ?? "rest";
  const node: FlameNode = {
    key: above ? `${above.key}/${tree.key || tree.kind}` : "",
    kind,
    name: "",
    owner: owning.has(kind) ? owners.find(tree.key) : (above?.owner ?? -1),
    line: kind === "line" ? (tree.id ?? 0) : 0,
    plan: ofPlans.has(kind) ? (tree.key.split(":")[1] ?? "") : "",
    weight: tree.weight,
    samples: tree.samples,
    children: [],
  };
  node.name = nameOf(tree, node, owners, lines);
  node.children = tree.children.map((child) => nodeOf(child, node, owners, lines));
  return node;
}

// As the flame graph of CPU time has it.
function nameOf(tree: FlameTree, node: FlameNode, owners: Owners, lines: Map<string, string>): string {
  const name = clean(tree.name, 100);
  if (owning.has(node.kind) && node.owner >= 0) {
    const who = owners.at(node.owner);
    return who.detail ? `${who.name} ${who.detail}` : who.name;
  }
  if (node.kind === "pipeline" && tree.id) return name === `pipeline ${tree.id}` ? name : `pipeline ${tree.id}: ${name}`;
  if (node.kind !== "line") return name;
  const text = clean((lines.get(`${node.plan}:${node.line}`) ?? tree.name).trim(), 100);
  return text ? `${node.line}: ${text}` : `line ${node.line}`;
}

// Null: nothing of it is the owner's.
function onlyOf(node: FlameNode, owner: number): FlameNode | null {
  if (node.owner === owner) return node;
  const children = node.children.flatMap((child) => onlyOf(child, owner) ?? []);
  if (children.length === 0) return null;
  const sum = (key: "weight" | "samples") => children.reduce((all, child) => all + child[key], 0);
  return { ...node, weight: sum("weight"), samples: sum("samples"), children };
}
