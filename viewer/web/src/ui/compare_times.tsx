// A side of a comparison that is a query: all its runs that began in a time. The time is part of the address.
import { localMinute } from "../model/format.ts";
import { change, link, route } from "../state/route.ts";

export type SideName = "a" | "b";

export interface Times {
  since?: string; // Unix milliseconds
  until?: string;
}

const mark = "fingerprint:";
export const sideOfQuery = (fingerprint: string) => `${mark}${fingerprint}`;
// "" of an execution.
export const queryOf = (side: string | undefined) => (side?.startsWith(mark) ? side.slice(mark.length) : "");

// Unix milliseconds as they stand in an address.
export function timeOf(text: string | undefined): string | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? text : undefined;
}

export function timesOf(side: SideName): Times {
  const { state } = route.value;
  return { since: timeOf(state[`${side}since`]), until: timeOf(state[`${side}until`]) };
}

const moment = (ms: string) => new Date(Number(ms)).toLocaleString();

export function timesText({ since, until }: Times): string {
  if (!since && !until) return "all its runs that are stored";
  return [since ? `from ${moment(since)}` : "", until ? `until ${moment(until)}` : ""].filter((each) => each !== "").join(" ");
}

export function linkToQuery(fingerprint: string, { since, until }: Times): string {
  const state: Record<string, string> = {};
  if (since) state["from"] = since;
  if (until) state["to"] = until;
  return link("fingerprint", fingerprint, state);
}

export function linkToTimes(fingerprint: string, a: Times, b: Times): string {
  const state: Record<string, string> = { a: sideOfQuery(fingerprint), b: sideOfQuery(fingerprint) };
  for (const [key, value] of Object.entries({ asince: a.since, auntil: a.until, bsince: b.since, buntil: b.until })) if (value) state[key] = value;
  return link("compare", "", state);
}

// Two halves of the time in which it ran: what stands there until a reader chooses.
export function linkToHalves(query: { fingerprint: string; first_ms: number; last_ms: number }, { since, until }: Times): string {
  const [first, last] = [Math.max(query.first_ms, Number(since ?? 0)), Math.min(query.last_ms, Number(until ?? Infinity))];
  const middle = String(Math.round((first + last) / 2));
  return linkToTimes(query.fingerprint, { since, until: middle }, { since: middle, until });
}

export function TimeInputs({ side }: { side: SideName }) {
  const times = timesOf(side);
  const input = (which: "since" | "until", word: string) => (
    <label>
      {word}{" "}
      <input
        type="datetime-local"
        aria-label={`${side.toUpperCase()} ${word}`}
        value={times[which] ? localMinute(Number(times[which])) : ""}
        onChange={(event) => {
          const { value } = event.currentTarget;
          const ms = Date.parse(value); // a text without a zone is local time
          if (value === "" || ms >= 0) change({ [`${side}${which}`]: value === "" ? null : ms });
        }}
      />
    </label>
  );
  return (
    <p class="times">
      {input("since", "from")} {input("until", "until")}
    </p>
  );
}

// Until there is an answer, or if there is none: other times may have one.
export function TimesAlone({ sides }: { sides: SideName[] }) {
  return (
    <div class="two">
      {sides.map((side) => (
        <section key={side} class={`card side ${side.toUpperCase()}`} aria-label={`Execution ${side.toUpperCase()}`}>
          <h2>
            <span class="letter">{side.toUpperCase()}</span>
          </h2>
          <TimeInputs side={side} />
        </section>
      ))}
    </div>
  );
}
