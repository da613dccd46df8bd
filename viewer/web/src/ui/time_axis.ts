// What all charts over time share: the axis, the brushed part, and dragging it.
import type { Pen } from "../draw/canvas.tsx";
import type { Palette } from "../draw/colors.ts";
import { duration, ticks } from "../model/format.ts";
import { change } from "../state/route.ts";

export interface Domain {
  from: number;
  to: number;
}

export const axisHeight = 20;

export function drawAxis({ g, width }: Pen, top: number, bottom: number, domain: Domain, colors: Palette) {
  const span = domain.to - domain.from;
  g.lineWidth = 1;
  for (const at of ticks(domain.from, domain.to, width / 110)) {
    const x = Math.round(((at - domain.from) / span) * width) + 0.5;
    g.strokeStyle = colors.grid;
    g.beginPath();
    g.moveTo(x, top);
    g.lineTo(x, bottom);
    g.stroke();
    g.fillStyle = colors.dim;
    const text = at === 0 ? "0" : duration(at);
    const wide = g.measureText(text).width;
    g.fillText(text, Math.max(0, Math.min(width - wide, x - wide / 2)), bottom + axisHeight / 2 + 1);
  }
}

// Greys out what is not chosen and marks the edges of what is.
export function drawBrush({ g, width }: Pen, top: number, bottom: number, domain: Domain, brush: { from: number | null; to: number | null }, colors: Palette) {
  if (brush.from === null && brush.to === null) return;
  const x = (at: number) => ((at - domain.from) / (domain.to - domain.from)) * width;
  const left = brush.from === null ? 0 : Math.max(0, Math.min(width, x(brush.from)));
  const right = brush.to === null ? width : Math.max(0, Math.min(width, x(brush.to)));
  g.globalAlpha = 0.72;
  g.fillStyle = colors.background;
  g.fillRect(0, top, left, bottom - top);
  g.fillRect(right, top, width - right, bottom - top);
  g.globalAlpha = 1;
  g.strokeStyle = colors.accent;
  g.lineWidth = 1.5;
  g.beginPath();
  for (const edge of [left, right]) {
    g.moveTo(edge, top);
    g.lineTo(edge, bottom);
  }
  g.stroke();
}

// Pointer handlers for a canvas over `domain`: dragging chooses a part of the time, a click without dragging calls
// `onClick`. A second hand-on drags from the nearest edge while Shift is down.
export function brushHandlers(domain: Domain, onHover: (at: { time: number; x: number; y: number; clientX: number; clientY: number } | null) => void, onClick: (y: number) => void) {
  const timeAt = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const part = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
    return { time: domain.from + part * (domain.to - domain.from), x: event.clientX - box.left, y: event.clientY - box.top };
  };
  return {
    onPointerDown(event: PointerEvent) {
      if (event.button !== 0) return;
      const canvas = event.currentTarget as HTMLElement;
      const start = timeAt(event);
      let moved = false;
      canvas.setPointerCapture(event.pointerId);
      const move = (next: PointerEvent) => {
        const now = timeAt(next);
        if (!moved && Math.abs(now.x - start.x) < 4) return;
        moved = true;
        setRange(Math.min(start.time, now.time), Math.max(start.time, now.time));
      };
      const up = () => {
        canvas.removeEventListener("pointermove", move);
        canvas.removeEventListener("pointerup", up);
        canvas.removeEventListener("pointercancel", up);
        if (!moved) onClick(start.y);
      };
      canvas.addEventListener("pointermove", move);
      canvas.addEventListener("pointerup", up);
      canvas.addEventListener("pointercancel", up);
    },
    onPointerMove(event: PointerEvent) {
      onHover({ ...timeAt(event), clientX: event.clientX, clientY: event.clientY });
    },
    onPointerLeave() {
      onHover(null);
    },
    onDblClick() {
      change({ from: null, to: null, iter: null });
    },
  };
}

export function setRange(from: number, to: number) {
  change({ from: Math.floor(from), to: Math.ceil(to), iter: null }, true);
}

// Arrow keys move the chosen part, with Shift they move its end, + and - zoom it.
export function brushKey(event: KeyboardEvent, domain: Domain, brush: { from: number | null; to: number | null }): boolean {
  const span = domain.to - domain.from;
  const from = brush.from ?? domain.from;
  const to = brush.to ?? domain.to;
  const step = span / 50;
  const clamp = (at: number) => Math.max(domain.from, Math.min(domain.to, at));
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    const by = event.key === "ArrowLeft" ? -step : step;
    if (event.shiftKey) setRange(from, Math.max(from + step / 10, clamp(to + by)));
    else if (brush.from === null && brush.to === null) setRange(domain.from, domain.from + span / 4);
    else {
      const shift = by < 0 ? Math.max(by, domain.from - from) : Math.min(by, domain.to - to);
      setRange(from + shift, to + shift);
    }
    return true;
  }
  if (event.key === "+" || event.key === "-") {
    const middle = (from + to) / 2;
    const half = ((to - from) / 2) * (event.key === "+" ? 0.5 : 2);
    setRange(clamp(middle - half), clamp(middle + half));
    return true;
  }
  return false;
}
