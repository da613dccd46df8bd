// The iterations of a dataflow loop; choosing one narrows the page to its time.
import type { Iterations } from "../data/types.ts";
import { Canvas, type Pen } from "../draw/canvas.tsx";
import { palette } from "../draw/colors.ts";
import { duration, name as clean, percent } from "../model/format.ts";
import { change, route } from "../state/route.ts";
import { theme } from "../state/theme.ts";
import type { Loaded } from "./load.ts";
import type { PageView } from "./page_view.ts";
import { Card, DataTable, Message } from "./parts.tsx";

export type Loop = Iterations["loops"][number];
type Iteration = Loop["iterations"][number];

export function loopOf(iterations: Iterations | null): Loop | null {
  const loops = iterations?.loops ?? [];
  const wanted = Number(route.value.state["loop"] ?? 0);
  return loops[wanted] ?? loops[0] ?? null;
}

export function chooseIteration(iteration: Iteration | null) {
  if (!iteration) change({ iter: null, from: null, to: null });
  else change({ iter: iteration.number, from: Math.floor(iteration.begin_ns), to: Math.ceil(iteration.begin_ns + iteration.elapsed_ns) });
}

// Of less than five iterations nothing is known.
function evenness(loop: Loop): string {
  return loop.iterations.length < 5 ? "" : `; nine of ten are as long as their neighbours up to ${percent(loop.spread)}`;
}

export function IterationsCard({ view, iterations }: { view: PageView; iterations: Loaded<Iterations> }) {
  const loop = loopOf(iterations.value);
  if (!loop) {
    return (
      <Card id="iterations" title="Iterations">
        {iterations.loading ? <Message text="Looking for loops…" /> : <Message text={iterations.error?.message ?? "There is no loop in this execution: the engine marked none, and the samples show none."} />}
      </Card>
    );
  }
  const rows = loop.iterations;
  const longest = rows.reduce((most, row) => Math.max(most, row.elapsed_ns), 1);
  const height = 150;
  const colors = palette(theme.value);
  const draw = ({ g, width }: Pen) => {
    const wide = Math.min(60, width / rows.length);
    rows.forEach((row, index) => {
      const chosen = view.chosen.iteration === row.number;
      const h = (row.elapsed_ns / longest) * (height - 24);
      g.fillStyle = chosen ? colors.accent : view.chosen.iteration === null ? colors.accent : colors.component;
      g.fillRect(index * wide + 1, height - 18 - h, Math.max(1, wide - 2), h);
      if (wide > 22 || index % Math.ceil(26 / wide) === 0) {
        g.fillStyle = colors.dim;
        g.fillText(String(row.number), index * wide + 2, height - 8);
      }
    });
  };
  return (
    <Card
      id="iterations"
      title="Iterations"
      note={`${clean(loop.name, 60) || "loop"}: ${rows.length} iterations, found by ${loop.found_by}${evenness(loop)}`}
      tools={
        (iterations.value?.loops.length ?? 0) > 1 && (
          <select aria-label="Loop" value={route.value.state["loop"] ?? "0"} onChange={(event) => change({ loop: event.currentTarget.value, iter: null, from: null, to: null })}>
            {iterations.value!.loops.map((each, index) => (
              <option key={index} value={String(index)}>
                {clean(each.name, 40) || `loop ${index + 1}`} {each.execution.slice(0, 6)}
              </option>
            ))}
          </select>
        )
      }
      table={() => (
        <DataTable
          caption="Iterations"
          rows={rows}
          onRow={(row) => chooseIteration(row.number === view.chosen.iteration ? null : row)}
          selected={(row) => row.number === view.chosen.iteration}
          columns={[
            { name: "iteration", number: true, value: (row) => row.number },
            { name: "begins", number: true, value: (row) => row.begin_ns, show: (row) => duration(row.begin_ns) },
            { name: "takes", number: true, value: (row) => row.elapsed_ns, show: (row) => duration(row.elapsed_ns) },
            { name: "samples", number: true, value: (row) => row.samples },
          ]}
        />
      )}
    >
      <Canvas
        draw={draw}
        height={height}
        label="Length of each iteration; the table has the numbers"
        onClick={(event: MouseEvent) => {
          const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
          const row = rows[Math.floor((event.clientX - box.left) / Math.min(60, box.width / rows.length))];
          if (row) chooseIteration(row.number === view.chosen.iteration ? null : row);
        }}
      />
      <p class="dim small">The bar’s height is how long the iteration took. [ and ] choose the one before and after.{view.owner >= 0 || view.filter.tid !== null || view.filter.pipeline !== null ? " Operators, threads and pipelines that are chosen change nothing here." : ""}</p>
    </Card>
  );
}
