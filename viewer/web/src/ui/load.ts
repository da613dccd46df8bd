// Asks for data and keeps the last answer while the next one is under way.
import { useEffect, useState } from "preact/hooks";
import { type Access, DataError, type Parameters } from "../data/access.ts";

export interface Loaded<T> {
  value: T | null;
  error: DataError | null;
  loading: boolean;
}

// `path` null: nothing to ask for. `again` changes when the same request is to be made once more.
export function useLoad<T>(access: Access, path: string | null, parameters: Parameters = {}, again = 0): Loaded<T> {
  const [state, set] = useState<Loaded<T> & { key: string }>({ value: null, error: null, loading: path !== null, key: "" });
  const key = JSON.stringify([path, parameters]);
  useEffect(() => {
    if (path === null) {
      set({ value: null, error: null, loading: false, key });
      return;
    }
    const abort = new AbortController();
    set((before) => ({ ...before, value: before.key === key ? before.value : null, error: null, loading: true, key }));
    access.get<T>(path, parameters, abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) set({ value, error: null, loading: false, key });
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        const known = error instanceof DataError ? error : new DataError("internal", String(error));
        set({ value: null, error: known, loading: false, key });
      },
    );
    return () => abort.abort();
  }, [access, key, again]);
  return state.key === key ? state : { value: null, error: null, loading: path !== null };
}

// What something was when it last stayed the same for so long.
export function useSettled<T>(now: T, ms: number): T {
  const [settled, set] = useState(now);
  const key = JSON.stringify(now);
  useEffect(() => {
    const timer = setTimeout(() => set(now), ms);
    return () => clearTimeout(timer);
  }, [key, ms]);
  return settled;
}

// Whether something has been true for so long.
export function useLater(now: boolean, ms: number): boolean {
  const [later, set] = useState(false);
  useEffect(() => {
    set(false);
    if (!now) return;
    const timer = setTimeout(() => set(true), ms);
    return () => clearTimeout(timer);
  }, [now, ms]);
  return now && later;
}
