// A call tree as rows that open and close, by mouse and by keyboard (the keys are those of ARIA's trees).
import { useMemo, useRef, useState } from "preact/hooks";
import { interval, percent } from "../model/format.ts";
import { type CallNode, type FunctionProfile, shownObject } from "../model/functions.ts";
import { ShareBar } from "./parts.tsx";

const mostAtFirst = 40; // rows
const leastAtFirst = 0.02; // share of what is opened at first

interface Row {
  node: CallNode;
  parent: Row | null;
  place: number; // among its siblings, from 1
  siblings: number;
}

// What is open before somebody opens or closes anything: the dearest branches.
function openAtFirst(root: CallNode): Set<string> {
  const open = new Set<string>();
  const next = [...root.children];
  let rows = next.length;
  while (next.length > 0 && rows < mostAtFirst) {
    next.sort((a, b) => b.weight - a.weight);
    const node = next.shift()!;
    if (node.weight < root.weight * leastAtFirst) break;
    if (node.children.length === 0 || rows + node.children.length > mostAtFirst) continue;
    open.add(node.key);
    rows += node.children.length;
    next.push(...node.children);
  }
  return open;
}

function aboveFound(root: CallNode, found: Set<CallNode>): Set<string> {
  const open = new Set<string>();
  const walk = (node: CallNode): boolean => {
    let within = false;
    for (const child of node.children) within = walk(child) || within;
    if (within) open.add(node.key);
    return within || found.has(node);
  };
  if (found.size > 0) walk(root);
  return open;
}

function rowsOf(root: CallNode, isOpen: (node: CallNode) => boolean): Row[] {
  const out: Row[] = [];
  const walk = (node: CallNode, parent: Row | null) => {
    node.children.forEach((child, index) => {
      const row = { node: child, parent, place: index + 1, siblings: node.children.length };
      out.push(row);
      if (isOpen(child)) walk(child, row);
    });
  };
  walk(root, null);
  return out;
}

export function CallTree({ profile, root, label, found, chosen, onChoose }: { profile: FunctionProfile; root: CallNode; label: string; found: Set<CallNode>; chosen: string; onChoose: (node: CallNode) => void }) {
  const [asked, ask] = useState<Map<string, boolean>>(new Map());
  const [focus, setFocus] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const first = useMemo(() => openAtFirst(root), [root]);
  const above = useMemo(() => aboveFound(root, found), [root, found]);
  const isOpen = (node: CallNode) => node.children.length > 0 && (asked.get(node.key) ?? (above.has(node.key) || (found.size === 0 && first.has(node.key))));
  const rows = rowsOf(root, isOpen);
  const current = Math.max(0, rows.findIndex((row) => row.node.key === focus));
  const open = (nodes: CallNode[], to: boolean) => ask(new Map([...asked, ...nodes.map((node): [string, boolean] => [node.key, to])]));
  const goTo = (row: Row | null | undefined) => {
    if (!row) return;
    setFocus(row.node.key);
    box.current?.querySelector<HTMLElement>(`[data-node="${row.node.key}"]`)?.focus();
  };
  const key = (event: KeyboardEvent) => {
    const row = rows[current];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const siblings = row.parent?.node.children ?? root.children;
    const does: Record<string, () => void> = {
      ArrowDown: () => goTo(rows[current + 1]),
      ArrowUp: () => goTo(rows[current - 1]),
      ArrowRight: () => (isOpen(row.node) ? goTo(rows[current + 1]) : row.node.children.length > 0 && open([row.node], true)),
      ArrowLeft: () => (isOpen(row.node) ? open([row.node], false) : goTo(row.parent)),
      Home: () => goTo(rows[0]),
      End: () => goTo(rows[rows.length - 1]),
      "*": () => open(siblings, true),
      Enter: () => onChoose(row.node),
      " ": () => onChoose(row.node),
    };
    const act = does[event.key];
    if (!act) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="calltree">
      <div class="callrow head" aria-hidden="true">
        <span class="what">function</span>
        <span class="bar" />
        <span class="number">total</span>
        <span class="number wide">95 % interval</span>
        <span class="number">own code</span>
        <span class="number">samples</span>
      </div>
      <div role="tree" aria-label={label} ref={box} onKeyDown={key}>
        {rows.map((row, index) => (
          <TreeRow key={row.node.key} profile={profile} row={row} open={isOpen(row.node)} focused={index === current} found={found.has(row.node)} chosen={row.node.info !== null && row.node.info.key === chosen} toggle={() => { setFocus(row.node.key); open([row.node], !isOpen(row.node)); }} choose={() => { setFocus(row.node.key); onChoose(row.node); }} />
        ))}
      </div>
      {rows.length === 0 && <p class="empty">Nothing to show.</p>}
    </div>
  );
}

function TreeRow({ profile, row, open, focused, found, chosen, toggle, choose }: { profile: FunctionProfile; row: Row; open: boolean; focused: boolean; found: boolean; chosen: boolean; toggle: () => void; choose: () => void }) {
  const { node } = row;
  const total = profile.share(node);
  const self = profile.share(node.self);
  const leaf = node.children.length === 0;
  return (
    <div
      role="treeitem"
      class={`callrow ${found ? "found" : ""} ${chosen ? "selected" : ""}`}
      data-node={node.key}
      aria-level={node.depth}
      aria-posinset={row.place}
      aria-setsize={row.siblings}
      aria-expanded={leaf ? undefined : open}
      aria-selected={chosen}
      tabIndex={focused ? 0 : -1}
      onClick={choose}
      onDblClick={() => leaf || toggle()}
    >
      <span class="what" style={{ paddingLeft: `${Math.min(40, node.depth - 1) * 12}px` }} title={node.info ? `${node.name} (${shownObject(node.info.object)})` : node.name}>
        <span class={`twist ${leaf ? "leaf" : ""}`} aria-hidden="true" onClick={(event) => { event.stopPropagation(); if (!leaf) toggle(); }}>
          {leaf ? "" : open ? "▾" : "▸"}
        </span>
        <span class={node.info && node.info.named ? "" : "dim"}>{node.name}</span> {node.info && <span class="dim">{shownObject(node.info.object)}</span>}
      </span>
      <span class="bar">
        <ShareBar {...total} />
      </span>
      <span class="number">{percent(total.share)}</span>
      <span class="number wide dim">{interval(total.low, total.high)}</span>
      <span class="number">{node.kind === "rest" ? "" : percent(self.share)}</span>
      <span class="number">{Math.round(node.samples * 10) / 10}</span>
    </div>
  );
}
