// What all charts over time share: the axis, the part of the time that is in sight, the chosen one, and the mouse on them.
import type { Pen } from "../draw/canvas.tsx";
import type { Palette } from "../draw/colors.ts";
import { moment, ticks } from "../model/format.ts";
import { moveBy, parseMarks, type Range, sightOf, zoomAt } from "../model/sight.ts";
import { changeSoon, flushAddress, route } from "../state/route.ts";

export interface Domain {
  from: number;
  to: number;
}

export interface Hover {
  part: number; // of the chart's width
  x: number;
  y: number;
  clientX: number;
  clientY: number;
}

export const axisHeight = 20;

export function drawAxis({ g, width }: Pen, top: number, bottom: number, domain: Domain, colors: Palette) {
  const span = domain.to - domain.from;
  const places = ticks(domain.from, domain.to, width / 110);
  const step = places.length > 1 ? places[1]! - places[0]! : span;
  let free = 0; // where the text before ends
  g.lineWidth = 1;
  for (const at of places) {
    const x = Math.round(((at - domain.from) / span) * width) + 0.5;
    g.strokeStyle = colors.grid;
    g.beginPath();
    g.moveTo(x, top);
    g.lineTo(x, bottom);
    g.stroke();
    const text = Math.abs(at) < step / 2 ? "0" : moment(at, step);
    const wide = g.measureText(text).width;
    const left = Math.max(0, Math.min(width - wide, x - wide / 2));
    if (left < free) continue;
    free = left + wide + 8;
    g.fillStyle = colors.dim;
    g.fillText(text, left, bottom + axisHeight / 2 + 1);
  }
}

// A mark is a line along the bottom with a letter; the letters are those of the table.
export const markName = (index: number) => String.fromCharCode(65 + index);

export function drawMarks({ g, width }: Pen, bottom: number, domain: Domain, colors: Palette) {
  const x = (at: number) => ((at - domain.from) / (domain.to - domain.from)) * width;
  parseMarks(route.value.state["marks"]).forEach((mark, index) => {
    const [left, right] = [x(mark.from), x(mark.to)];
    if (right < 0 || left > width) return;
    g.fillStyle = colors.accent;
    g.globalAlpha = 0.07;
    g.fillRect(left, 0, right - left, bottom);
    g.globalAlpha = 1;
    g.fillRect(left, bottom - 2, Math.max(1, right - left), 2);
    const at = Math.max(0, Math.min(width - 13, left));
    g.fillRect(at, bottom - 13, 13, 13);
    g.fillStyle = colors.panel;
    g.fillText(markName(index), at + 3, bottom - 6);
  });
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

// Where on a chart the mouse is. The time there changes with what is in sight.
let pointed: number | null = null;
const timeIn = (part: number, { from, to }: Domain) => from + part * (to - from);
export const pointedTime = (time: Range) => (pointed === null ? null : timeIn(pointed, sightNow(time)));
export const hoverIn = (hover: Hover | null, domain: Domain) => hover && { ...hover, time: timeIn(hover.part, domain) };

const numberOf = (text: string | undefined) => (text === undefined || !Number.isFinite(Number(text)) ? null : Number(text));
// What is in sight at this moment, which may be newer than what is drawn.
export const sightNow = (time: Range) => sightOf(numberOf(route.value.state["left"]), numberOf(route.value.state["right"]), time);

// All of it is no part. Not so often as to flood the address.
export function show(sight: Range, time: Range) {
  const all = sight.to - sight.from >= time.to - time.from;
  changeSoon(all ? { left: null, right: null } : { left: Math.floor(sight.from), right: Math.ceil(sight.to) });
}

// Whether anything changed.
export function zoomBy(factor: number, at: number | null, time: Range): boolean {
  const now = sightNow(time);
  const to = zoomAt(now, time, at ?? (now.from + now.to) / 2, factor);
  if (to.from === now.from && to.to === now.to) return false;
  show(to, time);
  return true;
}

export function panBy(part: number, time: Range): boolean {
  const now = sightNow(time);
  const to = moveBy(now, time, (now.to - now.from) * part);
  if (to.from === now.from) return false;
  show(to, time);
  return true;
}

// A wheel that began to scroll the page does not zoom the chart that comes under it.
let scrolled = 0;
if (typeof window !== "undefined") addEventListener("wheel", (event) => void (event.defaultPrevented || (scrolled = event.timeStamp)), { passive: true });
const pause = 300; // ms

function onWheel(event: WheelEvent, at: number, time: Range) {
  if (!event.ctrlKey && event.timeStamp - scrolled < pause) return;
  const across = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
  const unit = event.deltaMode === 0 ? 1 : event.deltaMode === 1 ? 30 : 300;
  const changed = Math.abs(across) > Math.abs(event.deltaY) || event.shiftKey
    ? panBy((across * unit) / (event.currentTarget as HTMLElement).clientWidth, time)
    : zoomBy(Math.exp((event.deltaY * unit) / (event.ctrlKey ? 120 : 400)), at, time);
  // Where there is nothing left to zoom out of, the page scrolls.
  if (changed || event.ctrlKey) event.preventDefault();
}

interface Options {
  time: Range | null; // all of it; null: it cannot be zoomed
  range: Range | null; // what is chosen
  onHover: (at: Hover | null) => void;
  onClick?: (y: number) => void;
  // What a double click on something shows from near.
  thingAt?: (time: number, y: number) => Range | null;
}

// Handlers for a canvas over `domain`. Dragging chooses a part of the time, with Shift it moves what is in sight. The wheel
// zooms, a double click shows from near what it hits. A click without dragging calls `onClick`.
export function timeHandlers(domain: Domain, { time, range, onHover, onClick, thingAt }: Options) {
  const timeAt = (event: MouseEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const part = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
    return { part, time: timeIn(part, domain), x: event.clientX - box.left, y: event.clientY - box.top };
  };
  return {
    onPointerDown(event: PointerEvent) {
      if (event.button !== 0) return;
      const canvas = event.currentTarget as HTMLElement;
      const start = timeAt(event);
      const moves = event.shiftKey && time !== null ? sightNow(time) : null;
      let moved = false;
      canvas.setPointerCapture(event.pointerId);
      const move = (next: PointerEvent) => {
        const now = timeAt(next);
        if (!moved && Math.abs(now.x - start.x) < 4) return;
        moved = true;
        if (moves) show(moveBy(moves, time!, ((start.x - now.x) / canvas.clientWidth) * (moves.to - moves.from)), time!);
        else setRange(Math.min(start.time, now.time), Math.max(start.time, now.time));
      };
      const up = () => {
        canvas.removeEventListener("pointermove", move);
        canvas.removeEventListener("pointerup", up);
        canvas.removeEventListener("pointercancel", up);
        flushAddress();
        if (!moved) onClick?.(start.y);
      };
      canvas.addEventListener("pointermove", move);
      canvas.addEventListener("pointerup", up);
      canvas.addEventListener("pointercancel", up);
    },
    onPointerMove(event: PointerEvent) {
      const at = timeAt(event);
      pointed = at.part;
      onHover({ part: at.part, x: at.x, y: at.y, clientX: event.clientX, clientY: event.clientY });
    },
    onPointerLeave() {
      pointed = null;
      onHover(null);
    },
    onWheel(event: WheelEvent) {
      if (time) onWheel(event, timeAt(event).time, time);
    },
    onDblClick(event: MouseEvent) {
      if (!time) return;
      const at = timeAt(event);
      const isChosen = range !== null && at.time >= range.from && at.time < range.to;
      const thing = thingAt?.(at.time, at.y) ?? (isChosen ? range : null);
      if (!thing) zoomBy(event.shiftKey ? 4 : 1 / 4, at.time, time);
      else show(sightOf(thing.from, thing.to, time), time);
    },
  };
}

export function setRange(from: number, to: number) {
  const begin = Math.floor(from);
  changeSoon({ from: begin, to: Math.max(begin + 1, Math.ceil(to)), iter: null });
}

// Arrow keys move the chosen part, with Shift they move its end, + and - zoom it.
export function brushKey(event: KeyboardEvent, domain: Domain, sight: Domain, brush: { from: number | null; to: number | null }): boolean {
  const span = sight.to - sight.from;
  const from = brush.from ?? domain.from;
  const to = brush.to ?? domain.to;
  const step = span / 50;
  const clamp = (at: number) => Math.max(domain.from, Math.min(domain.to, at));
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    const by = event.key === "ArrowLeft" ? -step : step;
    if (event.shiftKey) setRange(from, Math.max(from + step / 10, clamp(to + by)));
    else if (brush.from === null && brush.to === null) setRange(sight.from, sight.from + span / 4);
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
