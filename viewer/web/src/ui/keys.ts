// Keys that work wherever nobody is typing. The innermost page is asked first.
import { useEffect, useRef } from "preact/hooks";

type Handler = (key: string, event: KeyboardEvent) => boolean;
const handlers: { current: Handler }[] = [];

export function useKeys(handler: Handler) {
  const ref = useRef(handler);
  ref.current = handler;
  useEffect(() => {
    handlers.push(ref);
    return () => {
      handlers.splice(handlers.indexOf(ref), 1);
    };
  }, []);
}

export function listenToKeys() {
  addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement | null;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))) return;
    for (const handler of [...handlers].reverse()) {
      if (handler.current(event.key, event)) {
        event.preventDefault();
        return;
      }
    }
  });
}

export const keyHelp: [string, string][] = [
  ["w s", "charts over time: less time from nearer, more time from farther; at the mouse, if it is on a chart"],
  ["a d", "charts over time: earlier, later"],
  ["f", "show the chosen part from near, then all the time; in the plan: the whole plan, and back"],
  ["m", "mark the chosen part, or what is in sight; again: take the mark away"],
  ["wheel", "on a chart over time: nearer and farther; with Shift, or sideways: earlier and later"],
  ["drag", "on a chart over time: choose a part; with Shift: earlier and later"],
  ["double click", "on a chart over time: show the chosen part, or what is under the mouse, from near; with Shift from farther"],
  ["arrows", "in a chart over time: move the chosen part; with Shift its end; + and - zoom it"],
  ["1 … 7", "show flame graph, functions, code, memory, threads, iterations, recording"],
  ["arrows", "in the plan: go to the operator above, below or beside; Enter chooses it"],
  ["arrows", "in a call tree: up and down, open and close; * opens all beside it, Enter chooses"],
  ["+ -", "in the plan: larger, smaller; dragging moves it"],
  ["[ ]", "the iteration before, the iteration after"],
  ["Esc", "take all choices away"],
  ["/", "search the functions of an execution; on the overview the executions"],
  ["t", "dark or light"],
  ["?", "this list"],
];
