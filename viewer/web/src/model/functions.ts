// The functions of a view with their call trees, and how those of two views differ.
import type { CallTreeColumns, Functions } from "../data/types.ts";
import { name as clean } from "./format.ts";
import { wilson } from "./wilson.ts";

export interface CallSum {
  samples: number;
  weight: number;
}

export interface CallShare extends CallSum {
  share: number;
  low: number;
  high: number;
}

export type FunctionKind = "user" | "kernel" | "generated" | "unknown";

export interface OwnerPart {
  owner: number;
  self: CallSum;
  total: CallSum;
}

export interface FunctionInfo {
  key: string; // the same in all profiles: library and name
  name: string;
  object: string;
  kind: FunctionKind;
  named: boolean;
  why: string;
  self: CallSum;
  total: CallSum;
  owners: OwnerPart[];
}

export interface CallNode {
  key: string; // of its path: the same in all profiles
  kind: "all" | "function" | "rest";
  name: string;
  info: FunctionInfo | null; // null: of the root, and of the rest
  weight: number;
  samples: number;
  self: CallSum;
  depth: number;
  children: CallNode[];
}

export const shownObject = (object: string) => object || "in no file";

const at = (column: number[] | undefined, index: number): number => {
  const value = column?.[index];
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
};

// A short name for a path, which may be long: two hashes of it.
export function pathKey(parent: string, step: string): string {
  let [a, b] = [0x811c9dc5, 0x9e3779b9];
  for (const text of [parent, "/", step]) {
    for (let i = 0; i < text.length; i++) {
      a = Math.imul(a ^ text.charCodeAt(i), 0x01000193);
      b = Math.imul(b ^ text.charCodeAt(i), 0x85ebca6b) + i;
    }
  }
  return (a >>> 0).toString(36) + (b >>> 0).toString(36);
}

function infosOf({ functions, objects }: Functions): FunctionInfo[] {
  return functions.name.map((text, index): FunctionInfo => {
    const object = clean(objects[functions.object[index] ?? -1] ?? "", 120);
    const address = functions.address?.[index] ?? "";
    const name = clean(text, 240) + (address ? ` @${clean(address, 20)}` : "");
    return {
      key: `${object}:${clean(text, 240)}`,
      name,
      object,
      kind: functions.kind[index] ?? "unknown",
      named: functions.named[index] ?? false,
      why: clean(functions.why?.[index] ?? "", 200),
      self: { samples: at(functions.self_samples, index), weight: at(functions.self_weight, index) },
      total: { samples: at(functions.total_samples, index), weight: at(functions.total_weight, index) },
      owners: (functions.owners?.[index] ?? []).map(([owner, selfSamples, selfWeight, samples, weight]) => ({ owner, self: { samples: selfSamples, weight: selfWeight }, total: { samples, weight } })),
    };
  });
}

const restName = (merged: number) => (merged === 1 ? "1 more" : `${merged} more`);

export function treeOf(columns: CallTreeColumns, infos: FunctionInfo[]): CallNode {
  const nodes: CallNode[] = [];
  columns.function.forEach((number, index) => {
    const parent = index === 0 ? undefined : nodes[at(columns.parent, index)];
    const info = number >= 0 ? (infos[number] ?? null) : null;
    const kind = index === 0 ? "all" : info ? "function" : "rest";
    const node: CallNode = {
      key: index === 0 ? "" : pathKey(parent?.key ?? "", info?.key ?? "rest"),
      kind,
      name: index === 0 ? "all samples" : (info?.name ?? restName(at(columns.merged, index))),
      info,
      weight: at(columns.weight, index),
      samples: at(columns.samples, index),
      self: { samples: at(columns.self_samples, index), weight: at(columns.self_weight, index) },
      depth: (parent?.depth ?? -1) + 1,
      children: [],
    };
    nodes.push(node);
    parent?.children.push(node);
  });
  const root = nodes[0] ?? { key: "", kind: "all", name: "all samples", info: null, weight: 0, samples: 0, self: { samples: 0, weight: 0 }, depth: 0, children: [] };
  // The dearest first, and the rest last. Two nodes of one path, of functions of one name, differ by their place.
  for (const node of nodes) {
    node.children.sort((a, b) => Number(a.kind === "rest") - Number(b.kind === "rest") || b.weight - a.weight || (a.name < b.name ? -1 : 1));
    const seen = new Map<string, number>();
    for (const child of node.children) {
      const before = seen.get(child.key) ?? 0;
      seen.set(child.key, before + 1);
      if (before > 0) child.key = pathKey(child.key, String(before));
    }
  }
  return root;
}

export class FunctionProfile {
  readonly answer: Functions;
  readonly functions: FunctionInfo[];
  readonly callees: CallNode;
  readonly callers: CallNode;
  readonly libraries: { name: string; self: CallSum }[];

  constructor(answer: Functions) {
    this.answer = answer;
    this.functions = infosOf(answer);
    this.callees = treeOf(answer.callees, this.functions);
    this.callers = treeOf(answer.callers, this.functions);
    this.libraries = answer.libraries.object.map((object, index) => ({
      name: shownObject(clean(answer.objects[object] ?? "", 120)),
      self: { samples: at(answer.libraries.samples, index), weight: at(answer.libraries.weight, index) },
    }));
  }

  get weight(): number {
    return this.answer.view.weight;
  }
  share(sum: CallSum): CallShare {
    const share = this.weight > 0 ? sum.weight / this.weight : 0;
    const [low, high] = wilson(Math.min(1, share), this.answer.effective_samples);
    return { ...sum, share, low, high };
  }
  find(key: string): FunctionInfo | undefined {
    return this.functions.find((each) => each.key === key);
  }
  // Of the function's cost, the part of an owner.
  shareOfOwner(info: FunctionInfo, sum: CallSum): CallShare {
    const share = info.total.weight > 0 ? sum.weight / info.total.weight : 0;
    const worth = this.answer.view.samples > 0 ? this.answer.effective_samples / this.answer.view.samples : 1;
    const [low, high] = wilson(Math.min(1, share), info.total.samples * worth);
    return { ...sum, share, low, high };
  }
  // Of the samples, those in functions that nothing names.
  get unnamed(): CallSum {
    const out = { samples: 0, weight: 0 };
    for (const each of this.functions) {
      if (each.named) continue;
      out.samples += each.self.samples;
      out.weight += each.self.weight;
    }
    return out;
  }
}

const matches = (info: FunctionInfo | null, wanted: string) => info !== null && (info.name.toLowerCase().includes(wanted) || info.object.toLowerCase().includes(wanted));

// What a search finds in a tree: the nodes, and their cost together. A node below another that was found counts once.
export function searchTree(root: CallNode, text: string): { found: Set<CallNode>; sum: CallSum } {
  const wanted = text.trim().toLowerCase();
  const found = new Set<CallNode>();
  const sum = { samples: 0, weight: 0 };
  if (wanted === "") return { found, sum };
  const stack: [CallNode, boolean][] = [[root, false]];
  for (let next = stack.pop(); next; next = stack.pop()) {
    const [node, within] = next;
    const hit = matches(node.info, wanted);
    if (hit) found.add(node);
    if (hit && !within) {
      sum.samples += node.samples;
      sum.weight += node.weight;
    }
    for (const child of node.children) stack.push([child, within || hit]);
  }
  return { found, sum };
}

export const searchFunctions = (functions: FunctionInfo[], text: string): FunctionInfo[] => {
  const wanted = text.trim().toLowerCase();
  return wanted === "" ? functions : functions.filter((each) => matches(each, wanted));
};

// From the root to the node with that key; the root alone where none has it.
export function pathTo(root: CallNode, key: string): CallNode[] {
  if (key === "") return [root];
  const path: CallNode[] = [];
  const walk = (node: CallNode): boolean => {
    path.push(node);
    if (node.key === key || node.children.some(walk)) return true;
    path.pop();
    return false;
  };
  return walk(root) ? path : [root];
}

// How a share changed. The old one is known exactly, or as a range: of a node that the other answer added up with others.
export interface Change {
  before: CallShare;
  known: boolean;
  by: number; // of the share
  sure: boolean; // the intervals do not overlap
}

const change = (now: CallShare, before: CallShare, known: boolean): Change => ({ before, known, by: known ? now.share - before.share : now.share > before.high ? now.share - before.high : 0, sure: now.low > before.high || now.high < before.low });

function atMost(old: FunctionProfile, rest: CallSum): CallShare {
  const most = old.share(rest);
  return { samples: 0, weight: 0, share: 0, low: 0, high: most.high };
}

export interface TreeChanges {
  of: Map<CallNode, Change>;
  gone: { path: string; share: CallShare }[]; // what the new tree does not have, and would show
}

// Nodes of two trees are the same where all functions on their paths have the same name and library.
export function compareTrees(now: FunctionProfile, old: FunctionProfile): TreeChanges {
  const out: TreeChanges = { of: new Map(), gone: [] };
  // `rest`: of the old tree, what may hold a node that it does not show.
  const walk = (node: CallNode, before: CallNode | null, rest: CallSum) => {
    const known = before !== null || rest.weight === 0;
    out.of.set(node, change(now.share(node), known ? old.share(before ?? rest) : atMost(old, rest), known));
    const children = new Map(before?.children.map((each) => [each.key, each]));
    const below = before ? (before.children.find((each) => each.kind === "rest") ?? { samples: 0, weight: 0 }) : rest;
    for (const child of node.children) {
      if (child.kind === "rest") continue;
      walk(child, children.get(child.key) ?? null, below);
      children.delete(child.key);
    }
    if (node.children.some((each) => each.kind === "rest")) return;
    for (const each of children.values()) if (each.kind === "function") out.gone.push({ path: pathText(node, each), share: old.share(each) });
  };
  walk(now.callees, old.callees, { samples: 0, weight: 0 });
  out.gone.sort((a, b) => b.share.weight - a.share.weight);
  return out;
}

const pathText = (above: CallNode, node: CallNode) => `${node.name}${above.info ? ` below ${above.info.name}` : ""}`;

export interface FunctionChange {
  key: string;
  name: string;
  object: string;
  now: CallShare;
  change: Change;
}

// Functions by their own code, those of both. Two of one name in one library are one here.
export function compareFunctions(now: FunctionProfile, old: FunctionProfile): FunctionChange[] {
  const sums = (profile: FunctionProfile) => {
    const out = new Map<string, { info: FunctionInfo; self: CallSum }>();
    for (const info of profile.functions) {
      const known = out.get(info.key);
      out.set(info.key, { info, self: { samples: (known?.self.samples ?? 0) + info.self.samples, weight: (known?.self.weight ?? 0) + info.self.weight } });
    }
    return out;
  };
  const [here, there] = [sums(now), sums(old)];
  const rest = old.answer.more_functions ?? { samples: 0, weight: 0 };
  const restHere = now.answer.more_functions ?? { samples: 0, weight: 0 };
  const rows: FunctionChange[] = [];
  for (const key of new Set([...here.keys(), ...there.keys()])) {
    const [a, b] = [here.get(key), there.get(key)];
    if (!a && restHere.weight > 0) continue; // it may be among those that are not listed
    const { name, object } = (a ?? b)!.info;
    const known = b !== undefined || rest.weight === 0;
    const share = now.share(a?.self ?? { samples: 0, weight: 0 });
    const before = known ? old.share(b?.self ?? { samples: 0, weight: 0 }) : atMost(old, rest);
    rows.push({ key, name, object, now: share, change: change(share, before, known) });
  }
  return rows.sort((x, y) => Math.abs(y.change.by) - Math.abs(x.change.by));
}
