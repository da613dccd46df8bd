// Of very many samples the page has sums over slices of time. The samples of a chosen time are asked for one by one where
// they are few.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Access } from "../data/access.ts";
import type { Samples } from "../data/types.ts";
import { SampleTable } from "../model/samples.ts";
import { hull, isWhole, type Range } from "../model/sight.ts";
import { useLoad, useSettled } from "./load.ts";
import { type Base, type Chosen, type PartSamples, timesOf } from "./page_view.ts";

export const mostSamples = 200_000;
const patience = 250; // ms without a change, while somebody drags

export interface OnDemand {
  part: PartSamples | null; // of the chosen time, or of more than that
  state: "none" | "too many" | "loading" | "failed" | "here";
}

// What to ask for, the best first: what charts show and what is chosen, else what counts. None: nothing.
function rangesWanted(base: Base | null, chosen: Chosen): Range[] {
  const table = base?.table;
  const times = base && timesOf(base, chosen);
  if (!table?.slice || !times) return [];
  const range = chosen.from === null && chosen.to === null ? null : { from: chosen.from ?? table.from, to: chosen.to ?? table.to };
  const sight = isWhole(times.sight, times.all) ? null : times.sight;
  const wanted = [range && sight ? hull(range, sight) : null, range ?? sight];
  return wanted.flatMap((each): Range[] => {
    if (!each) return [];
    const from = Math.max(Math.floor(each.from), Math.floor(table.from));
    const to = Math.min(Math.ceil(each.to), Math.ceil(table.to));
    return from < to ? [{ from, to }] : [];
  });
}

export function useSamplesOnDemand(access: Access, path: string, base: Base | null, chosen: Chosen): OnDemand {
  const [kept, keep] = useState<(PartSamples & { base: Base }) | null>(null);
  const { wanted, few } = useMemo(() => {
    const ranges = access.isFile ? [] : rangesWanted(base, chosen);
    const few = ranges.find((each) => base!.table!.samplesWithin(each.from, each.to) <= mostSamples);
    return { wanted: few ?? ranges.at(-1) ?? null, few: few !== undefined };
  }, [access, base, chosen.from, chosen.to, chosen.left, chosen.right]);
  const part = kept && wanted && kept.base === base && kept.from <= wanted.from && wanted.to <= kept.to ? kept : null;
  const ask = useSettled(few && !part ? wanted : null, patience);
  const source = base?.profile.source.name;
  const answer = useLoad<Samples>(access, ask ? `${path}/samples` : null, { source, from_ns: ask?.from, to_ns: ask?.to, limit: mostSamples, timeout_ms: 60000 });
  useEffect(() => {
    if (ask && base && answer.value) keep({ base, from: ask.from, to: ask.to, table: new SampleTable(base.profile, answer.value, base.owners) });
  }, [answer.value]);
  if (part) return { part, state: "here" };
  if (!wanted) return { part: null, state: "none" };
  if (!few) return { part: null, state: "too many" };
  return { part: null, state: answer.error ? "failed" : "loading" };
}
