// What is chosen at this moment, in words; every part can be taken away again.
import { name as clean, rangeText } from "../model/format.ts";
import { change } from "../state/route.ts";
import type { PageView } from "./page_view.ts";

export function Filters({ view }: { view: PageView }) {
  const { chosen } = view;
  const chips: { key: string; text: string; clear: () => void }[] = [];
  if (chosen.iteration !== null) chips.push({ key: "iter", text: `iteration ${chosen.iteration}`, clear: () => change({ iter: null, from: null, to: null }) });
  else if (chosen.from !== null || chosen.to !== null) {
    const from = chosen.from ?? view.base.table?.from ?? 0;
    const to = chosen.to ?? view.base.table?.to ?? 0;
    chips.push({ key: "time", text: rangeText(from, to), clear: () => change({ from: null, to: null }) });
  }
  if (view.isZoomed) {
    const { from, to } = view.sight!;
    chips.push({ key: "sight", text: `${view.range ? "charts show" : "in sight:"} ${rangeText(from, to)}`, clear: () => change({ left: null, right: null }) });
  }
  if (view.operatorRow) chips.push({ key: "op", text: clean(view.operatorRow.name, 50), clear: () => change({ op: null }) });
  if (chosen.pipeline !== null) chips.push({ key: "pipe", text: `pipeline ${clean(chosen.pipeline.split(":").pop(), 20)}`, clear: () => change({ pipe: null }) });
  if (chosen.tid !== null) chips.push({ key: "tid", text: `thread ${chosen.tid}${view.table && view.filter.tid === null ? " (not applied to sums over slices of time)" : ""}`, clear: () => change({ tid: null }) });
  return (
    <div class="filters" aria-live="polite">
      <span class="dim">Shown:</span>
      {chips.length === 0 && <span>all samples</span>}
      {chips.map((chip) => (
        <button type="button" key={chip.key} class="chip" data-filter={chip.key} onClick={chip.clear} title="Take this choice away">
          {chip.text} <span aria-hidden="true">×</span>
          <span class="hidden">, take away</span>
        </button>
      ))}
      {chips.length > 1 && (
        <button type="button" class="quiet" onClick={clearAll}>
          Clear all
        </button>
      )}
    </div>
  );
}

export function clearAll() {
  change({ from: null, to: null, left: null, right: null, op: null, pipe: null, tid: null, iter: null, line: null, zoom: null });
}
