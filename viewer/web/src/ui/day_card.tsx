// A day of the store by the minute: when something ran, and which query. It is read when somebody asks for it.
import { useMemo, useState } from "preact/hooks";
import type { Access } from "../data/access.ts";
import type { Host } from "../data/types.ts";
import { Canvas, type Pen } from "../draw/canvas.tsx";
import { mix, palette } from "../draw/colors.ts";
import { type Day, dayAt, dayBeside, dayOf, type Hour, fingerprintOf, hoursOf, inMinute, isQuery } from "../model/day.ts";
import { duration, name as clean, timeOfDay } from "../model/format.ts";
import { change, go, route } from "../state/route.ts";
import { theme } from "../state/theme.ts";
import { useLoad } from "./load.ts";
import { Card, DataTable, Message, Tip } from "./parts.tsx";

const rowHeight = 15;
const left = 46; // where the first minute is
const bottom = 18;
const cpuText = (cpus: number) => `${cpus.toFixed(2)} CPUs`;
const clock = (ms: number) => timeOfDay(ms, 3_600_000);

export function DayCard({ access, now }: { access: Access; now: number }) {
  const day = dayOf(route.value.state["day"] ?? "");
  const host = useLoad<Host>(access, day ? "host" : null, day ? { since: day.since, until: day.until, buckets: day.minutes, timeout_ms: 60000 } : {});
  if (!day) {
    return (
      <Card id="day" title="A day by the minute" tools={<button type="button" onClick={() => change({ day: dayAt(now) })}>Show today</button>}>
        {null}
      </Card>
    );
  }
  return <DayShown day={day} host={host.value} error={host.error?.message ?? ""} last={dayAt(now)} />;
}

function DayShown({ day, host, error, last }: { day: Day; host: Host | null; error: string; last: string }) {
  const queries = host?.by_fingerprint.filter((row) => row.cpu_ns.some((ns) => ns > 0)) ?? [];
  const asked = route.value.state["dayq"] ?? "";
  const key = queries.some((row) => row.key === asked) ? asked : "";
  const hours = useMemo(() => (host ? hoursOf(day, host, key) : []), [day.text, host, key]);
  const all = hours.reduce((sum, hour) => sum + hour.ns, 0);
  const tools = (
    <>
      <button type="button" class="quiet" onClick={() => change({ day: dayBeside(day, -1) })} title="The day before" aria-label="The day before">‹</button>
      <input type="date" aria-label="Day" value={day.text} max={last} onChange={(event) => dayOf(event.currentTarget.value) && change({ day: event.currentTarget.value })} />
      <button type="button" class="quiet" disabled={day.text >= last} onClick={() => change({ day: dayBeside(day, 1) })} title="The day after" aria-label="The day after">›</button>
      <label>
        <span class="hidden">Query</span>
        <select value={key} onChange={(event) => change({ dayq: event.currentTarget.value || null })}>
          <option value="">All queries</option>
          {queries.map((row) => (
            <option key={row.key} value={row.key}>
              {clean(row.name, 40)}
            </option>
          ))}
        </select>
      </label>
      <button type="button" class="quiet" onClick={() => change({ day: null, dayq: null })}>Close</button>
    </>
  );
  return (
    <Card id="day" title="A day by the minute" note={host ? `${duration(all)} of CPU time in executions; the cost of each is spread over its time` : undefined} tools={tools} table={host ? () => <DayTable hours={hours} /> : undefined}>
      {error !== "" && <Message kind="error" text={error} />}
      {!host && error === "" && <Message text="Reading the day…" />}
      {host && all === 0 && <Message text="Nothing is stored of this day." />}
      {host && all > 0 && <Heat day={day} host={host} hours={hours} query={key} />}
    </Card>
  );
}

function DayTable({ hours }: { hours: Hour[] }) {
  return (
    <DataTable
      caption="Hours of the day"
      rows={hours}
      columns={[
        { name: "hour", value: (row) => row.begin, show: (row) => clock(row.begin) },
        { name: "CPU time", number: true, value: (row) => row.ns, show: (row) => duration(row.ns) },
        { name: "busiest minute", number: true, value: (row) => Math.max(...row.cpus), show: (row) => cpuText(Math.max(...row.cpus)) },
        { name: "dearest of these queries", value: (row) => clean(row.dearest?.name, 60) },
      ]}
    />
  );
}

// The minute under the mouse; -1: none.
function minuteAt(event: MouseEvent, day: Day): number {
  const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
  const column = Math.floor(((event.clientX - box.left - left) / (box.width - left)) * 60);
  const row = Math.floor((event.clientY - box.top) / rowHeight);
  const minute = row * 60 + column;
  return column < 0 || column > 59 || row < 0 || minute >= day.minutes ? -1 : minute;
}

function Heat({ day, host, hours, query }: { day: Day; host: Host; hours: Hour[]; query: string }) {
  const [hover, setHover] = useState<{ minute: number; x: number; y: number } | null>(null);
  const colors = palette(theme.value);
  const top = Math.max(1e-9, ...hours.flatMap((hour) => hour.cpus));
  // A minute in which anything ran has a colour that shows.
  const shade = (cpus: number) => mix(colors.panel, colors.accent, cpus === 0 ? 0 : 0.15 + 0.85 * (cpus / top));
  const height = hours.length * rowHeight + bottom;
  const draw = ({ g, width }: Pen) => {
    const wide = (width - left) / 60;
    hours.forEach((hour, row) => {
      g.fillStyle = colors.dim;
      g.fillText(clock(hour.begin), 2, row * rowHeight + rowHeight / 2);
      hour.cpus.forEach((cpus, minute) => {
        g.fillStyle = cpus > 0 ? shade(cpus) : colors.background;
        g.fillRect(left + minute * wide, row * rowHeight, Math.max(1, wide - 1), rowHeight - 1);
      });
    });
    g.fillStyle = colors.dim;
    for (let minute = 0; minute < 60; minute += 10) g.fillText(`:${String(minute).padStart(2, "0")}`, left + minute * wide, hours.length * rowHeight + bottom / 2);
  };
  const rows = hover ? inMinute(host, hover.minute).filter((row) => query === "" || row.key === query) : [];
  return (
    <>
      <Canvas
        draw={draw}
        height={height}
        label="CPUs busy in each minute of the day, a row an hour; the table has the hours"
        onPointerMove={(event: PointerEvent) => {
          const minute = minuteAt(event, day);
          setHover(minute < 0 ? null : { minute, x: event.clientX, y: event.clientY });
        }}
        onPointerLeave={() => setHover(null)}
        onClick={(event: MouseEvent) => {
          const minute = minuteAt(event, day);
          const found = minute < 0 ? undefined : inMinute(host, minute).find((row) => query === "" || row.key === query);
          const from = day.since + minute * 60_000;
          if (found && isQuery(found.key)) go({ page: "fingerprint", id: fingerprintOf(found.key), state: { from: String(from), to: String(from + 60_000) } });
        }}
      />
      <p class="legend">
        <span>
          <span class="swatch" style={{ background: shade(0.001 * top) }} /> little
        </span>
        <span>
          <span class="swatch" style={{ background: shade(top) }} /> {cpuText(top)}
        </span>
        <span class="dim">A click opens the query that cost most in a minute, if it is one of the most expensive of the day.</span>
      </p>
      {hover && (
        <Tip x={hover.x} y={hover.y}>
          <b>{clock(day.since + hover.minute * 60_000)}</b>
          {rows.length === 0 && <div class="dim">no execution</div>}
          {rows.slice(0, 8).map((row) => (
            <div key={row.key} class="tiprow">
              <span>{clean(row.name, 40)}</span>
              <b>{cpuText(row.cpus)}</b>
            </div>
          ))}
        </Tip>
      )}
    </>
  );
}
