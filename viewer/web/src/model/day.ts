// A day by the minute: a row an hour, a column a minute.
import type { Host } from "../data/types.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export interface Day {
  text: string; // "2026-01-31", of the reader's time zone
  since: number; // Unix ms
  until: number;
  minutes: number; // 1440, but for days on which clocks change
}

const two = (value: number) => String(value).padStart(2, "0");
const textOf = (at: Date) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

// "" and what is no day: null.
export function dayOf(text: string): Day | null {
  const found = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (!found) return null;
  const [year, month, date] = found.slice(1).map(Number) as [number, number, number];
  const [begin, end] = [new Date(year, month - 1, date), new Date(year, month - 1, date + 1)];
  if (textOf(begin) !== text) return null;
  return { text, since: begin.getTime(), until: end.getTime(), minutes: Math.round((end.getTime() - begin.getTime()) / minuteMs) };
}

export const dayAt = (ms: number): string => textOf(new Date(ms));

// This number of days later; earlier, if it is below 0.
export function dayBeside(day: Day, days: number): string {
  const [year, month, date] = day.text.split("-").map(Number) as [number, number, number];
  return textOf(new Date(year, month - 1, date + days));
}

export interface Hour {
  begin: number; // Unix ms
  cpus: number[]; // of each of its minutes
  ns: number; // CPU time
  dearest: { key: string; name: string; ns: number } | null; // of the queries that the answer names
}

// Not the sum of all that the answer does not name.
const prefix = "fingerprint:";
export const isQuery = (key: string) => key.startsWith(prefix);
export const fingerprintOf = (key: string) => key.slice(prefix.length);

// CPUs busy in each minute. `key`: of one query, "" of all.
export function hoursOf(day: Day, host: Host, key: string): Hour[] {
  const rows = host.by_fingerprint.filter((row) => key === "" || row.key === key);
  const hours: Hour[] = [];
  for (let from = 0; from < day.minutes; from += 60) {
    const to = Math.min(day.minutes, from + 60);
    const sums = rows.map((row) => ({ key: row.key, name: row.name, ns: row.cpu_ns.slice(from, to).reduce((sum, ns) => sum + ns, 0) }));
    const known = sums.filter((row) => isQuery(row.key));
    const dearest = known.reduce<Hour["dearest"]>((best, row) => (row.ns > (best?.ns ?? 0) ? row : best), null);
    const cpus = Array.from({ length: to - from }, (_, i) => rows.reduce((sum, row) => sum + (row.cpu_ns[from + i] ?? 0), 0) / (minuteMs * 1e6));
    hours.push({ begin: day.since + (from / 60) * hourMs, cpus, ns: sums.reduce((sum, row) => sum + row.ns, 0), dearest });
  }
  return hours;
}

// What ran in a minute, the dearest first.
export function inMinute(host: Host, minute: number): { key: string; name: string; cpus: number }[] {
  const rows = host.by_fingerprint.map((row) => ({ key: row.key, name: row.name, cpus: (row.cpu_ns[minute] ?? 0) / (minuteMs * 1e6) }));
  return rows.filter((row) => row.cpus > 0).sort((a, b) => b.cpus - a.cpus);
}
