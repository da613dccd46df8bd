// Keys of charts over time, wherever the mouse is: those of Perfetto.
import { withMark, formatMarks, parseMarks } from "../model/sight.ts";
import { change, route } from "../state/route.ts";
import { useKeys } from "./keys.ts";
import type { PageView } from "./page_view.ts";
import { panBy, pointedTime, show, zoomBy } from "./time_axis.ts";

const nearer = 0.7;
const step = 0.15; // of what is in sight

export function useTimeKeys(view: PageView) {
  useKeys((pressed) => {
    const time = view.time;
    const key = pressed.length === 1 ? pressed.toLowerCase() : pressed;
    if (!time) return false;
    if (key === "w") zoomBy(nearer, pointedTime(time), time);
    else if (key === "s") zoomBy(1 / nearer, pointedTime(time), time);
    else if (key === "a") panBy(-step, time);
    else if (key === "d") panBy(step, time);
    else if (key === "f") return !inPlan() && fitTime(view);
    else if (key === "m") return markTime(view);
    else return false;
    return true;
  });
}

// The plan has a size of its own.
const inPlan = () => document.querySelector("#card-plan:hover, #card-plan:focus-within") !== null;

export const showsRange = (view: PageView) => view.range !== null && view.sight !== null && Math.floor(Math.max(view.range.from, view.time!.from)) === view.sight.from && Math.ceil(Math.min(view.range.to, view.time!.to)) === view.sight.to;

// The chosen part as wide as the charts, then all of the time.
function fitTime(view: PageView): boolean {
  if (view.range && !showsRange(view)) showRange(view);
  else if (view.isZoomed) showAll();
  else return false;
  return true;
}

export const showAll = () => change({ left: null, right: null }, true);

export function showRange(view: PageView) {
  const { range, time } = view;
  if (range && time) show({ from: Math.max(range.from, time.from), to: Math.min(range.to, time.to) }, time);
}

export function markTime(view: PageView): boolean {
  const part = view.partOfTime;
  if (!part || !view.time) return false;
  const within = { from: Math.max(part.from, view.time.from), to: Math.min(part.to, view.time.to) };
  if (within.from >= within.to) return false;
  change({ marks: formatMarks(withMark(parseMarks(route.value.state["marks"]), within)) });
  return true;
}
