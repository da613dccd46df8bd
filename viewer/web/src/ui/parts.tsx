// Small parts that every page uses.
import type { ComponentChildren, CSSProperties } from "preact";
import type { Execution } from "../data/types.ts";
import type { Owner } from "../model/owners.ts";
import { interval, lines, name as clean, percent } from "../model/format.ts";
import { rateText } from "../model/runs.ts";
import { ownerColor } from "../draw/colors.ts";
import { change, route } from "../state/route.ts";
import { theme } from "../state/theme.ts";

export function Swatch({ owner }: { owner: Owner | undefined }) {
  const kind = owner?.kind ?? "unattributed";
  return <span class={`swatch ${kind}`} style={{ background: kind === "unattributed" ? undefined : ownerColor(owner, theme.value) }} />;
}

// Of an execution whose process was sampled at another rate while it ran: at which one, and because of what.
export function RateBadge({ row }: { row: Execution }) {
  const text = rateText(row);
  return text === "" ? null : (
    <span class="badge rate" title={`While it ran, its process was sampled at this rate for some of the time: ${lines(row.rate?.why, 400)}`}>
      {text}
    </span>
  );
}

// A share with its 95 % interval: a bar, and a whisker on it.
export function ShareBar({ share, low, high, color, scale = 1 }: { share: number; low: number; high: number; color?: string; scale?: number }) {
  const at = (value: number) => `${Math.max(0, Math.min(100, (value / scale) * 100))}%`;
  return (
    <span class="sharebar" aria-hidden="true">
      <span class="fill" style={{ width: at(share), background: color ?? "var(--accent)" }} />
      <span class="whisker" style={{ left: at(low), width: `${Math.max(0, Math.min(100, ((high - low) / scale) * 100))}%` }} />
    </span>
  );
}

export interface Column<Row> {
  name: string;
  title?: string;
  number?: boolean;
  value: (row: Row) => string | number;
  show?: (row: Row) => ComponentChildren;
}

// How a table is shown is part of the address, for each table by its name there.
const nameInAddress = (text: string) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 24);
const entriesOf = (key: "sort" | "all") => (route.value.state[key] ?? "").split(",").filter((each) => each !== "");

interface Sort {
  column: number;
  down: boolean;
}

// "name:column:down" of the table.
function sortOf<Row>(table: string, columns: Column<Row>[]): Sort | null {
  const [, wanted, order] = entriesOf("sort").find((each) => each.startsWith(`${table}:`))?.split(":") ?? [];
  const column = columns.findIndex((each) => nameInAddress(each.name) === wanted);
  return column < 0 ? null : { column, down: order === "down" };
}

function sortBy(table: string, column: string, down: boolean) {
  const others = entriesOf("sort").filter((each) => !each.startsWith(`${table}:`));
  change({ sort: [...others, `${table}:${nameInAddress(column)}:${down ? "down" : "up"}`].join(",") }, true);
}

// What a chart shows, as a table; a click on a heading sorts.
export function DataTable<Row>({ columns, rows, caption, onRow, selected }: { columns: Column<Row>[]; rows: Row[]; caption: string; onRow?: (row: Row) => void; selected?: (row: Row) => boolean }) {
  const table = nameInAddress(caption);
  const sort = sortOf(table, columns);
  const all = entriesOf("all").includes(table);
  const most = 300;
  let shown = rows;
  if (sort) {
    const value = columns[sort.column]!.value;
    shown = [...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return sort.down ? -order : order;
    });
  }
  const cut = !all && shown.length > most;
  if (cut) shown = shown.slice(0, most);
  return (
    <div class="tablebox" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={column.name} scope="col" class={column.number ? "number" : ""} aria-sort={sort?.column === index ? (sort.down ? "descending" : "ascending") : "none"}>
                <button type="button" title={column.title} onClick={() => sortBy(table, column.name, sort?.column === index ? !sort.down : !!column.number)}>
                  {column.name}
                  {sort?.column === index ? (sort.down ? " ↓" : " ↑") : ""}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row, index) => (
            <tr key={index} class={`${selected?.(row) ? "selected" : ""} ${onRow ? "link" : ""}`} onClick={onRow && (() => onRow(row))}>
              {columns.map((column) => {
                const value = column.show ? column.show(row) : column.value(row);
                return (
                  <td key={column.name} class={column.number ? "number" : ""}>
                    {value}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {cut && (
        <button type="button" class="quiet" onClick={() => change({ all: [...entriesOf("all"), table].join(",") }, true)}>
          Show all {rows.length} rows
        </button>
      )}
      {rows.length === 0 && <p class="empty">Nothing to show.</p>}
    </div>
  );
}

export function shareColumns<Row>(of: (row: Row) => { share: number; low: number; high: number; samples: number }): Column<Row>[] {
  return [
    { name: "share", number: true, value: (row) => of(row).share, show: (row) => percent(of(row).share) },
    { name: "95 % interval", number: true, value: (row) => of(row).low, show: (row) => interval(of(row).low, of(row).high) },
    { name: "samples", number: true, value: (row) => of(row).samples, show: (row) => String(Math.round(of(row).samples * 10) / 10) },
  ];
}

// A chart with its title, what it says in words, and the table behind it. Which tables are open is part of the address.
export function Card({ id, title, note, tools, table, children, style }: { id: string; title: string; note?: ComponentChildren; tools?: ComponentChildren; table?: () => ComponentChildren; children: ComponentChildren; style?: CSSProperties }) {
  const open = (route.value.state["table"] ?? "").split(",").includes(id);
  const toggle = () => {
    const now = (route.value.state["table"] ?? "").split(",").filter((each) => each !== "" && each !== id);
    change({ table: (open ? now : [...now, id]).join(",") });
  };
  return (
    <section class="card" id={`card-${id}`} aria-label={title} style={style}>
      <header>
        <h2>{title}</h2>
        {note && (
          <span key="note" class="note">
            {note}
          </span>
        )}
        <span key="tools" class="tools">
          {tools}
          {table && (
            <button type="button" class="quiet" aria-pressed={open} onClick={toggle} title="The same as a table">
              Table
            </button>
          )}
        </span>
      </header>
      {open && table ? table() : children}
    </section>
  );
}

export function Choice<Value extends string>({ label, value, options, onChange }: { label: string; value: Value; options: [Value, string][]; onChange: (value: Value) => void }) {
  return (
    <span class="choice" role="group" aria-label={label}>
      {options.map(([each, text]) => (
        <button key={each} type="button" aria-pressed={each === value} onClick={() => onChange(each)}>
          {text}
        </button>
      ))}
    </span>
  );
}

export function Message({ kind, text }: { kind?: string; text: string }) {
  return (
    <p class={`message ${kind ?? ""}`} role={kind === "error" ? "alert" : "status"}>
      {clean(text, 600)}
    </p>
  );
}

export function Tip({ x, y, children }: { x: number; y: number; children: ComponentChildren }) {
  const left = Math.min(x + 14, window.innerWidth - 300);
  const top = Math.min(y + 14, window.innerHeight - 180);
  return (
    <div class="tip" style={{ left: `${left}px`, top: `${top}px` }}>
      {children}
    </div>
  );
}
