// A tree of costs from the top down, width by cost, on a canvas.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Canvas, fit, hatch, type Pen } from "../draw/canvas.tsx";
import { palette, textOn } from "../draw/colors.ts";
import { theme } from "../state/theme.ts";
import { Tip } from "./parts.tsx";

const rowHeight = 22;

export interface IcicleNode<Node> {
  key: string;
  name: string;
  weight: number;
  children: Node[];
}

interface Box<Node> {
  node: Node;
  x: number; // 0..1 of the width
  width: number;
  depth: number;
}

export interface Look {
  fill: string;
  hatched?: boolean;
  dim?: boolean; // not what a search looks for
}

export function Icicle<Node extends IcicleNode<Node>>({ top, look, label, tip, onChoose }: { top: Node; look: (node: Node) => Look; label: string; tip: (node: Node) => ComponentChildren; onChoose: (node: Node) => void }) {
  const [hover, setHover] = useState<{ box: Box<Node>; x: number; y: number } | null>(null);
  const boxes: Box<Node>[] = [];
  place(top, 0, 1, 0, boxes);
  const depth = boxes.reduce((most, box) => Math.max(most, box.depth), 0) + 1;
  const height = depth * rowHeight + 2;
  const colors = palette(theme.value);
  const draw = ({ g, width }: Pen) => {
    for (const { node, x, width: part, depth: at } of boxes) {
      const w = part * width;
      if (w < 0.4) continue;
      const { fill, hatched, dim } = look(node);
      g.globalAlpha = dim ? 0.25 : 1;
      g.fillStyle = hatched ? hatch(g, fill, colors.panel) : fill;
      g.fillRect(x * width, at * rowHeight + 1, Math.max(0.5, w - 1), rowHeight - 2);
      g.globalAlpha = 1;
      const text = fit(g, node.name, w - 10);
      if (!text) continue;
      if (hatched) {
        g.fillStyle = colors.panel;
        g.fillRect(x * width + 3, at * rowHeight + 3, g.measureText(text).width + 5, rowHeight - 6);
      }
      g.fillStyle = hatched || dim ? colors.text : textOn(fill);
      g.fillText(text, x * width + 5, at * rowHeight + rowHeight / 2 + 1);
    }
    if (hover) {
      g.strokeStyle = colors.text;
      g.lineWidth = 1.5;
      g.strokeRect(hover.box.x * width + 0.5, hover.box.depth * rowHeight + 1.5, Math.max(1, hover.box.width * width - 2), rowHeight - 3);
    }
  };
  const find = (event: PointerEvent | MouseEvent): Box<Node> | undefined => {
    const area = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const x = (event.clientX - area.left) / area.width;
    const row = Math.floor((event.clientY - area.top) / rowHeight);
    return boxes.find((box) => box.depth === row && x >= box.x && x < box.x + box.width);
  };
  return (
    <>
      <Canvas
        draw={draw}
        height={height}
        label={label}
        onPointerMove={(event: PointerEvent) => {
          const box = find(event);
          setHover(box ? { box, x: event.clientX, y: event.clientY } : null);
        }}
        onPointerLeave={() => setHover(null)}
        onClick={(event: MouseEvent) => {
          const box = find(event);
          if (box) onChoose(box.node);
        }}
      />
      {hover && (
        <Tip x={hover.x} y={hover.y}>
          {tip(hover.box.node)}
        </Tip>
      )}
    </>
  );
}

function place<Node extends IcicleNode<Node>>(node: Node, x: number, width: number, depth: number, out: Box<Node>[]) {
  out.push({ node, x, width, depth });
  if (node.weight <= 0 || width < 1 / 8000) return;
  let at = x;
  for (const child of node.children) {
    const part = (child.weight / node.weight) * width;
    place(child, at, part, depth + 1, out);
    at += part;
  }
}
