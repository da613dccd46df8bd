// The functions of what is chosen, as far as somebody can be asked for them.
import { useMemo, useState } from "preact/hooks";
import type { Access, Parameters } from "../data/access.ts";
import type { DataError } from "../data/access.ts";
import { BundleAccess, bundleOf } from "../data/access.ts";
import type { Functions } from "../data/types.ts";
import { name as clean } from "../model/format.ts";
import { FunctionProfile } from "../model/functions.ts";
import { useLoad, useSettled } from "./load.ts";
import type { PageView } from "./page_view.ts";
import { parametersOf } from "./part_views.ts";

const patience = 250; // ms without a change, while somebody drags

export interface FunctionsShown {
  profile: FunctionProfile | null; // while the next one is read it is the one before
  error: DataError | null;
  loading: boolean;
  whole: boolean; // it is that of the whole view, though a part of it is chosen
}

// `source`: as the address names it.
export function useFunctions(access: Access, path: string, source: string | undefined, view: PageView | null, wanted: boolean): FunctionsShown {
  const narrowed = view !== null && (view.isPart || view.operator !== null);
  const parameters = useMemo((): Parameters | null => {
    if (!view || !wanted) return null;
    if (access.isFile || !narrowed) return { source };
    const operator = view.operator === null ? {} : { operator: view.operator, plan: view.planKey };
    return { ...parametersOf(view), ...operator };
  }, [access, source, view, narrowed, wanted]);
  const settled = useSettled(parameters, patience);
  const ask = parameters && (settled ?? parameters);
  const answer = useLoad<Functions>(access, ask ? `${path}/functions` : null, ask ?? {});
  const made = useMemo(() => (answer.value ? new FunctionProfile(answer.value) : null), [answer.value]);
  const [kept, keep] = useState<FunctionProfile | null>(null);
  if (made && made !== kept) keep(made);
  const behind = parameters !== null && JSON.stringify(ask) !== JSON.stringify(parameters);
  return { profile: made ?? (answer.error ? null : kept), error: answer.error, loading: answer.loading || behind, whole: access.isFile && narrowed };
}

// What to compare with: another execution by its id, or a report file that the reader opened.
export interface Other {
  profile: FunctionProfile | null;
  name: string;
  error: string;
}

export function useOther(access: Access, id: string, source: string | undefined, file: OpenedFile | null): Other {
  const asked = id !== "" && id !== "file";
  const answer = useLoad<Functions>(access, asked ? `executions/${encodeURIComponent(id)}/functions` : null, { source, timeout_ms: access.isFile ? undefined : 60000 });
  const made = useMemo(() => (answer.value ? new FunctionProfile(answer.value) : null), [answer.value]);
  if (id === "file") return file ? { profile: file.profile, name: file.name, error: file.error } : { profile: null, name: "", error: "The file that this was compared with is to be opened again." };
  return { profile: asked ? made : null, name: clean(id, 12), error: asked ? (answer.error?.message ?? "") : "" };
}

export interface OpenedFile {
  name: string;
  profile: FunctionProfile | null;
  error: string;
}

// A report file of `tailor report --html`: its functions of the same event, else of the one that it shows first.
export async function openReport(file: File, source: string): Promise<OpenedFile> {
  const name = clean(file.name, 60);
  try {
    const bundle = await bundleOf(await file.text());
    const access = new BundleAccess(bundle);
    const path = `executions/${access.firstId}/functions`;
    const answer = await access.get<Functions>(path, access.has(path, { source }) ? { source } : {});
    return { name, profile: new FunctionProfile(answer), error: "" };
  } catch (error) {
    return { name, profile: null, error: `${name} cannot be compared with: ${clean(error instanceof Error ? error.message : error, 200)}` };
  }
}
