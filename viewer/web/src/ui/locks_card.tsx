// Who held the locks that an execution waited for; and who waits for a lock now.
import { useEffect, useState } from "preact/hooks";
import type { Access } from "../data/access.ts";
import type { Execution, Host } from "../data/types.ts";
import { duration, name as clean } from "../model/format.ts";
import { heldUp, type HeldUpRow, type HolderRow, holdersOf, holdersWanted } from "../model/locks.ts";
import { link } from "../state/route.ts";
import { Card, DataTable } from "./parts.tsx";

// What is known of the executions for which holders worked. Null: asked for, and not to be had.
function useHolders(access: Access, execution: Execution): ReadonlyMap<string, Execution | null> {
  const [known, setKnown] = useState<ReadonlyMap<string, Execution | null>>(new Map());
  const wanted = holdersWanted(execution, known);
  useEffect(() => {
    if (wanted.length === 0) return;
    const abort = new AbortController();
    void Promise.all(wanted.map(async (id) => [id, await rowOf(access, id, abort.signal)] as const)).then((found) => {
      if (!abort.signal.aborted) setKnown((before) => new Map([...before, ...found]));
    });
    return () => abort.abort();
  }, [access, wanted.join()]);
  return known;
}

async function rowOf(access: Access, id: string, signal: AbortSignal): Promise<Execution | null> {
  const path = `executions/${encodeURIComponent(id)}`;
  try {
    if (access.has(path)) return await access.get<Execution>(path, {}, signal);
    // A file lists executions that have no answer of their own.
    const list = await access.get<{ executions: Execution[] }>("executions", {}, signal);
    return list.executions.find((row) => row.id === id) ?? null;
  } catch {
    return null;
  }
}

export function HoldersCard({ access, row }: { access: Access; row: Execution }) {
  const known = useHolders(access, row);
  if (!row.blockers?.length) return null;
  const { rows, leftOut } = holdersOf(row, known);
  const length = row.elapsed_ns ?? rows.reduce((most, each) => Math.max(most, each.to), 1);
  return (
    <Card id="locks" title="It waited for locks that others held" note="as far as was seen, in time since its begin; below each holder stand those that it waited for meanwhile">
      <DataTable
        caption="Who held the locks"
        rows={rows}
        columns={[
          { name: "held by", value: (each) => each.pid, show: (each) => <Below depth={each.depth - 1}>{holderText(each)}</Below> },
          { name: "which worked for", value: (each) => each.row?.plan_name ?? each.execution ?? "", show: (each) => <WorkedFor access={access} execution={each.execution} row={each.row} /> },
          { name: "from", number: true, value: (each) => each.from, show: (each) => duration(Math.max(0, each.from)) },
          { name: "to", number: true, value: (each) => each.to, show: (each) => duration(Math.max(0, each.to)) },
          { name: "for", number: true, value: (each) => each.to - each.from, show: (each) => duration(each.to - each.from) },
          { name: "when", title: "Within the time of the execution", value: (each) => each.from, show: (each) => <When from={each.from} to={each.to} length={length} /> },
        ]}
      />
      {leftOut > 0 && <p class="dim small">{leftOut.toLocaleString("en")} more</p>}
    </Card>
  );
}

const holderText = ({ pid, row }: HolderRow) => `process ${pid}${row?.comm ? ` (${clean(row.comm, 30)})` : ""}`;

const Below = ({ depth, children }: { depth: number; children: string }) => (
  <span class="below" style={{ paddingLeft: `${depth * 14}px` }}>
    {children}
  </span>
);

function WorkedFor({ access, execution, row }: { access: Access; execution: string | null; row: Execution | null }) {
  if (execution === null) return <span class="dim">no execution that is known</span>;
  const text = clean(row?.plan_name || execution.slice(0, 12), 60);
  return access.has(`executions/${execution}/profile`) ? <a href={link("execution", execution)}>{text}</a> : <>{text}</>;
}

function When({ from, to, length }: { from: number; to: number; length: number }) {
  const at = (time: number) => Math.max(0, Math.min(100, (time / length) * 100));
  return (
    <span class="sharebar" aria-hidden="true">
      <span class="fill" style={{ left: `${at(from)}%`, width: `max(2px, ${at(to) - at(from)}%)`, background: "var(--accent)" }} />
    </span>
  );
}

const mostRunning = 100; // that an answer has

// `executions`: others that may run, beside those that the host's answer has.
export function WaitingCard({ access, host, executions }: { access: Access; host: Host; executions: Execution[] }) {
  const ids = new Set(host.running.map((row) => row.id));
  const running = [...host.running, ...executions.filter((row) => row.running && !ids.has(row.id))];
  const { rows, leftOut } = heldUp(running, host.to_ms);
  if (rows.length === 0) return null;
  return (
    <Card id="waiting" title="Waiting for locks now" note={`below each process that holds a lock stand those that wait for it${host.running.length < mostRunning ? "" : "; of the newest executions that run"}`}>
      <DataTable
        caption="Who waits for a lock"
        rows={rows}
        columns={[
          { name: "process", value: (each) => each.pid, show: (each) => <Below depth={each.depth}>{waiterText(each)}</Below> },
          { name: "execution", value: (each) => each.row?.plan_name ?? each.execution ?? "", show: (each) => <WorkedFor access={access} execution={each.execution} row={each.row} /> },
          { name: "waits for", number: true, value: (each) => each.waits ?? -1, show: (each) => (each.waits === null ? "" : duration(each.waits)) },
        ]}
      />
      {leftOut > 0 && <p class="dim small">{leftOut.toLocaleString("en")} more</p>}
    </Card>
  );
}

const waiterText = ({ pid, waits, row }: HeldUpRow) => `process ${pid}${row?.comm ? ` (${clean(row.comm, 30)})` : ""}${waits === null ? " holds a lock" : ""}`;
