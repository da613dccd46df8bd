// What a dragged range holds, as a table with intervals, beside what the same has in the whole view. And the marked ranges.
import { amount, duration, interval, percent, rangeText } from "../model/format.ts";
import { formatMarks, overlap, parseMarks, type Range } from "../model/sight.ts";
import { shareOf, type Shared, totals } from "../model/totals.ts";
import { change, route } from "../state/route.ts";
import { laneKinds } from "./activity_card.tsx";
import { type Lane, lanesOf } from "./lanes.ts";
import type { PageView } from "./page_view.ts";
import { type Column, DataTable, shareColumns, Swatch } from "./parts.tsx";
import { markName, show } from "./time_axis.ts";
import { markTime, showRange, showsRange } from "./time_keys.ts";

// A range within the time that there is; null: nothing of it is.
function within(range: Range, time: Range): Range | null {
  const [from, to] = [Math.max(range.from, time.from), Math.min(range.to, time.to)];
  return from < to ? { from, to } : null;
}

const differs = (a: Shared, b: Shared) => a.low > b.high || b.low > a.high;

export function RangeCard({ view }: { view: PageView }) {
  const range = view.range && view.time && within(view.range, view.time);
  if (!range || !view.table) return null;
  const { by } = laneKinds(view.profile, view.table);
  const lanes = lanesOf(view, by, view.table).filter((lane) => lane.share.samples > 0 || lane.selected);
  const rows = lanes.sort((a, b) => b.share.weight - a.share.weight);
  const { weight, samples } = view.totals;
  const busy = weight / (range.to - range.from);
  const facts = [`${samples.toLocaleString("en")} samples`, amount(weight, view.unit), ...(view.unit === "ns_on_cpu" ? [`${busy.toFixed(2)} CPUs busy on average`] : [])];
  const columns: Column<Lane>[] = [
    { name: by, value: (row) => row.name, show: (row) => <>{row.owners.length === 1 && <Swatch owner={view.owners.at(row.owners[0]!)} />} {row.name} <span class="dim">{row.detail}</span></> },
    ...shareColumns<Lane>((row) => row.share),
    { name: view.unitName, number: true, value: (row) => row.share.weight, show: (row) => amount(row.share.weight, view.unit) },
    {
      name: "in the whole view",
      title: "A dot where the two intervals do not overlap",
      number: true,
      value: (row) => row.inAll?.share ?? -1,
      show: (row) => (row.inAll ? <>{differs(row.share, row.inAll) ? "● " : ""}{percent(row.inAll.share)} <span class="dim">{interval(row.inAll.low, row.inAll.high)}</span></> : "–"),
    },
  ];
  return (
    <section class="card range" id="card-range" aria-label="Chosen time">
      <header>
        <h2>Chosen time</h2>
        <span class="note">
          {rangeText(range.from, range.to)}: {facts.join(", ")}
        </span>
        <span class="tools">
          <button type="button" class="quiet" onClick={() => showRange(view)} aria-pressed={showsRange(view)} title="Key f">
            Show from near
          </button>
          <button type="button" class="quiet" onClick={() => markTime(view)} title="Key m">
            Mark
          </button>
          <button type="button" class="quiet" onClick={() => change({ from: null, to: null, iter: null })} aria-label="Take the chosen time away">
            ×
          </button>
        </span>
      </header>
      <DataTable caption="Cost in the chosen time" rows={rows} columns={columns} onRow={(row) => row.choose()} selected={(row) => row.selected} />
    </section>
  );
}

interface Mark {
  range: Range;
  name: string;
  share: Shared; // of the whole view
  dearest: { name: string; share: Shared } | null; // of the mark
}

function markOf(view: PageView, range: Range, index: number): Mark {
  const table = view.tableOf(range)!;
  const sums = totals(table, table.sumCells({ from: range.from, to: range.to, tid: null, pipeline: null }));
  const [owner, sum] = [...sums.owners].sort((a, b) => b[1].weight - a[1].weight)[0] ?? [];
  return {
    range,
    name: markName(index),
    share: shareOf({ weight: sums.weight, samples: sums.samples, kernel: sums.kernel, inferred: sums.inferred, shared: sums.shared }, view.whole),
    dearest: owner === undefined ? null : { name: view.owners.at(owner).name, share: shareOf(sum, sums) },
  };
}

export function MarksCard({ view }: { view: PageView }) {
  const marks = parseMarks(route.value.state["marks"]);
  const time = view.time;
  if (marks.length === 0 || !time) return null;
  const isChosen = ({ from, to }: Range) => view.chosen.from === from && view.chosen.to === to;
  const take = (range: Range) => change({ marks: formatMarks(marks.filter((each) => each.from !== range.from || each.to !== range.to)) });
  return (
    <section class="card range" id="card-marks" aria-label="Marked times">
      <header>
        <h2>Marked times</h2>
        <span class="note">in all charts over time, and in the address; a click chooses one</span>
      </header>
      <DataTable
        caption="Marked times"
        rows={marks.map((range, index) => markOf(view, range, index))}
        selected={(row) => isChosen(row.range)}
        onRow={({ range }) => {
          change({ from: range.from, to: range.to, iter: null });
          if (view.sight && overlap(range.from, range.to, view.sight) <= 0) show(range, time);
        }}
        columns={[
          { name: "mark", value: (row) => row.name, show: (row) => <b>{row.name}</b> },
          { name: "time", value: (row) => row.range.from, show: (row) => rangeText(row.range.from, row.range.to) },
          { name: "length", number: true, value: (row) => row.range.to - row.range.from, show: (row) => duration(row.range.to - row.range.from) },
          ...shareColumns<Mark>((row) => row.share),
          { name: "dearest", value: (row) => row.dearest?.share.share ?? 0, show: (row) => (row.dearest ? <>{row.dearest.name} {percent(row.dearest.share.share)} <span class="dim">{interval(row.dearest.share.low, row.dearest.share.high)}</span></> : "no sample") },
          { name: "remove", value: (row) => row.name, show: (row) => <button type="button" class="quiet" aria-label={`Take the mark ${row.name} away`} onClick={(event) => { event.stopPropagation(); take(row.range); }}>×</button> },
        ]}
      />
    </section>
  );
}
