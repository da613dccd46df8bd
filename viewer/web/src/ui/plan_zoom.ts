// How large the plan is drawn, and which part of it is in sight. The size is part of the address.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { change, route } from "../state/route.ts";
import { useKeys } from "./keys.ts";
import type { Layout } from "./plan_layout.ts";

export interface PlanZoom {
  box: (element: HTMLDivElement | null) => void; // where the picture is
  scale: number;
  fitted: boolean; // the whole plan is in sight
  by: (factor: number) => void;
  fit: () => void; // the whole plan, and back
}

const least = 0.05;
const most = 3;
const readable = 0.48; // boxes have room for a name and a share
const scrollbar = 14;
const narrow = "(max-width: 1000px)"; // where style.css leaves the plan less height

// How large the whole plan would be, and how large it is drawn at first: whole if its boxes have room for text then, else as
// wide as there is room.
export function scalesFor(layout: { width: number; height: number }, room: { width: number; height: number }): { whole: number; first: number } {
  const whole = Math.max(least, Math.min(1.25, room.width / layout.width, room.height / layout.height));
  return { whole, first: whole >= readable ? whole : Math.max(readable, Math.min(1, room.width / layout.width)) };
}

export function usePlanZoom(layout: Layout | null): PlanZoom {
  const [view, box] = useState<HTMLDivElement | null>(null);
  const [room, setRoom] = useState<{ width: number; height: number } | null>(null);
  useLayoutEffect(() => {
    if (!view) return;
    const measure = () => {
      const width = Math.max(100, view.offsetWidth - scrollbar);
      const height = Math.max(200, window.innerHeight * (matchMedia(narrow).matches ? 0.42 : 0.74) - scrollbar);
      setRoom((before) => (before?.width === width && before.height === height ? before : { width, height }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(view);
    addEventListener("resize", measure);
    return () => {
      observer.disconnect();
      removeEventListener("resize", measure);
    };
  }, [view]);

  const { whole, first } = layout && room ? scalesFor(layout, room) : { whole: 1, first: 1 };
  const told = route.value.state["scale"];
  const asked = Number(told);
  const scale = told === "whole" ? whole : asked > 0 && Number.isFinite(asked) ? Math.max(least, Math.min(most, asked)) : first;
  const fitted = Math.abs(scale - whole) < 1e-6;
  const by = (factor: number) => change({ scale: Math.max(least, Math.min(most, scale * factor)).toFixed(3) }, true);
  const fit = () => change({ scale: fitted || first === whole ? null : "whole" }, true);
  useKeys((key) => {
    if (key !== "f" || !layout) return false;
    fit();
    return true;
  });

  // What was in the middle stays there. At first that is the root.
  const before = useRef<{ scale: number; layout: Layout | null; view: HTMLElement | null }>({ scale: 1, layout: null, view: null });
  useLayoutEffect(() => {
    if (!view || !layout || !room) return;
    const last = before.current;
    if (last.layout !== layout || last.view !== view) {
      const root = [...layout.nodes.values()].reduce<number | null>((x, node) => (x === null || node.y < x ? node.y : x), null);
      const top = [...layout.nodes.values()].find((node) => node.y === root);
      view.scrollLeft = (top?.x ?? 0) * scale - view.clientWidth / 2;
      view.scrollTop = 0;
    } else if (last.scale !== scale) {
      const factor = scale / last.scale;
      view.scrollLeft = (view.scrollLeft + view.clientWidth / 2) * factor - view.clientWidth / 2;
      view.scrollTop = (view.scrollTop + view.clientHeight / 2) * factor - view.clientHeight / 2;
    }
    before.current = { scale, layout, view };
  });

  const latest = useRef(by);
  latest.current = by;
  useEffect(() => {
    if (!view) return;
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey) return; // a pinch on a touchpad has it too
      event.preventDefault();
      latest.current(Math.exp(-event.deltaY / 300));
    };
    const stop = dragToScroll(view);
    view.addEventListener("wheel", wheel, { passive: false });
    return () => {
      stop();
      view.removeEventListener("wheel", wheel);
    };
  }, [view]);
  return { box, scale, fitted, by, fit };
}

// Dragging with the mouse moves the picture; fingers scroll by themselves. What was dragged is not clicked.
function dragToScroll(view: HTMLElement): () => void {
  let start: { x: number; y: number; left: number; top: number } | null = null;
  let moved = false;
  const down = (event: PointerEvent) => {
    moved = false;
    if (event.button === 0 && event.pointerType === "mouse") start = { x: event.clientX, y: event.clientY, left: view.scrollLeft, top: view.scrollTop };
  };
  const move = (event: PointerEvent) => {
    if (!start) return;
    const [x, y] = [event.clientX - start.x, event.clientY - start.y];
    if (!moved && Math.hypot(x, y) < 5) return;
    moved = true;
    view.classList.add("dragged");
    view.scrollLeft = start.left - x;
    view.scrollTop = start.top - y;
  };
  const up = () => {
    start = null;
    view.classList.remove("dragged");
  };
  const click = (event: MouseEvent) => {
    if (!moved) return;
    moved = false;
    event.stopPropagation();
    event.preventDefault();
  };
  view.addEventListener("pointerdown", down);
  addEventListener("pointermove", move);
  addEventListener("pointerup", up);
  addEventListener("pointercancel", up);
  view.addEventListener("click", click, true);
  return () => {
    view.removeEventListener("pointerdown", down);
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", up);
    removeEventListener("pointercancel", up);
    view.removeEventListener("click", click, true);
  };
}
