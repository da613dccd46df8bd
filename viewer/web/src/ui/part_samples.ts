// Of very many samples the page has sums over slices of time. The samples of a chosen time are asked for one by one where
// they are few.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Access } from "../data/access.ts";
import type { Samples } from "../data/types.ts";
import { SampleTable } from "../model/samples.ts";
import { useLoad, useSettled } from "./load.ts";
import type { Base, Chosen, PartSamples } from "./page_view.ts";

export const mostSamples = 200_000;
const patience = 250; // ms without a change, while somebody drags

export interface OnDemand {
  part: PartSamples | null; // of the chosen time, or of more than that
  state: "none" | "too many" | "loading" | "failed" | "here";
}

interface Range {
  from: number;
  to: number;
}

// Null: there is nothing to ask for.
function rangeWanted(base: Base | null, chosen: Chosen): Range | null {
  const table = base?.table;
  if (!table?.slice || (chosen.from === null && chosen.to === null)) return null;
  const from = Math.max(Math.floor(chosen.from ?? table.from), Math.floor(table.from));
  const to = Math.min(Math.ceil(chosen.to ?? table.to), Math.ceil(table.to));
  return from < to ? { from, to } : null;
}

export function useSamplesOnDemand(access: Access, path: string, base: Base | null, chosen: Chosen): OnDemand {
  const [kept, keep] = useState<(PartSamples & { base: Base }) | null>(null);
  const wanted = useMemo(() => (access.isFile ? null : rangeWanted(base, chosen)), [access, base, chosen.from, chosen.to]);
  const few = useMemo(() => wanted !== null && base!.table!.samplesWithin(wanted.from, wanted.to) <= mostSamples, [base, wanted]);
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
