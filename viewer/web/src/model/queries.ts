// What queries cost in the time that the overview's charts show.
import type { Execution, Fingerprint, Host } from "../data/types.ts";

export interface QueryCost extends Fingerprint {
  cost: number;
  share: number;
}

const prefix = "fingerprint:";
const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);

// The dearest first. `host`: the chart that the costs are of, while `rows` are of the executions that began in its time. A
// query costs what the chart says, with its part of executions that began before. Null: `total` is of the time of the rows.
export function costsIn(rows: Fingerprint[], total: number, host: Pick<Host, "by_fingerprint"> | null): QueryCost[] {
  const drawn = new Map(host?.by_fingerprint.map((row) => [row.key, sum(row.cpu_ns)]));
  const whole = host ? sum([...drawn.values()]) : total;
  const known = new Set(rows.map((row) => row.fingerprint));
  const before = (host?.by_fingerprint ?? []).filter((row) => row.key.startsWith(prefix) && !known.has(row.key.slice(prefix.length)) && sum(row.cpu_ns) > 0);
  return [...rows, ...before.map((row) => beganBefore(row.key.slice(prefix.length), row.name))]
    .map((row) => {
      const cost = drawn.get(prefix + row.fingerprint) ?? row.cpu_ns;
      return { ...row, cost, share: whole > 0 ? Math.min(1, cost / whole) : 0 };
    })
    .sort((a, b) => b.cost - a.cost);
}

// How often it began, and how long it took, is not known of that time.
function beganBefore(fingerprint: string, name: string): Fingerprint {
  const elapsed_ns = { min: Number.NaN, mean: Number.NaN, max: Number.NaN };
  return { fingerprint, name, text: "", executions: Number.NaN, cpu_ns: 0, samples: 0, elapsed_ns, first_ms: 0, last_ms: 0, last_execution: "" };
}

// From the begin of the first execution to the end of the last, in Unix milliseconds. `newest`: the last ones that began.
// Null: it is not known.
export function spanOf(rows: Fingerprint[], newest: Execution[]): { since: number; until: number } | null {
  const known = rows.filter((row) => row.first_ms > 0);
  if (known.length === 0) return null;
  const since = Math.floor(Math.min(...known.map((row) => row.first_ms)));
  const ends = [...known.map((row) => row.last_ms), ...newest.map((row) => (row.began_ms ?? 0) + (row.elapsed_ns ?? 0) / 1e6)];
  return { since, until: Math.max(Math.ceil(Math.max(...ends)), since + 1) };
}
