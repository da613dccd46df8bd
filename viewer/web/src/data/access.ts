// Where the page gets its data from: a server, or the bundle inside a report file. Paths and parameters are those of
// docs/http-api.md.
import { DataError } from "./data_error.ts";
import { followEvents } from "./event_stream.ts";
import { answerIn, unpack } from "./packed.ts";
import type { Bundle, ErrorBody, Profile } from "./types.ts";

export type Parameters = Record<string, string | number | undefined>;

export { DataError };

export interface LiveHandlers {
  onStatus(data: unknown): void;
  onExecution(data: unknown): void;
  onCost(data: unknown): void;
  onDown(): void;
}

export interface Access {
  // A file cannot answer what it does not contain, and does not change.
  readonly isFile: boolean;
  // What `{id}` the page opens at first; "" for the overview.
  readonly firstId: string;
  // Whether it can be asked for that. A server may still have nothing to answer.
  has(path: string, parameters?: Parameters): boolean;
  // Throws a DataError.
  get<T>(path: string, parameters?: Parameters, signal?: AbortSignal): Promise<T>;
  // Calls back until the returned function is called. Null: nothing here changes.
  live(handlers: LiveHandlers): (() => void) | null;
  logIn(token: string): Promise<void>;
}

// "a=1&b=2", sorted by name, without what is empty.
export function queryText(parameters: Parameters): string {
  return Object.entries(parameters)
    .filter(([, value]) => value !== undefined && value !== "")
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(String(value))}`)
    .join("&");
}

export function isError(body: unknown): body is ErrorBody {
  return typeof body === "object" && body !== null && "error" in body && typeof (body as ErrorBody).error === "object";
}

// The secret of the session, of this origin alone: no other port gets it, which a cookie would do.
const SESSION = "tailor-session";

export class HttpAccess implements Access {
  readonly isFile = false;
  readonly firstId = "";

  private headers(): Record<string, string> {
    const session = localStorage.getItem(SESSION);
    return session ? { Authorization: `Bearer ${session}` } : {};
  }

  has(): boolean {
    return true;
  }

  async get<T>(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
    const query = queryText(parameters);
    let response: Response;
    try {
      response = await fetch(`api/v1/${path}${query ? `?${query}` : ""}`, { signal, headers: this.headers() });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new DataError("unreachable", "The server does not answer. Is tailord (or tailor web) running?");
    }
    let body: unknown;
    try {
      body = await response.json();
    } catch {
      throw new DataError("internal", `The server answered ${response.status} without JSON.`);
    }
    if (response.status === 401) {
      localStorage.removeItem(SESSION);
      throw new DataError("login", "This server asks for a token.");
    }
    if (isError(body) && !response.ok) throw new DataError(body.error.kind, body.error.message);
    if (!response.ok) throw new DataError("internal", `The server answered ${response.status}.`);
    return body as T;
  }

  live(handlers: LiveHandlers): () => void {
    const use: Record<string, (data: unknown) => void> = {
      status: (data) => handlers.onStatus(data),
      execution: (data) => handlers.onExecution(data),
      cost: (data) => handlers.onCost(data),
    };
    const open = (signal: AbortSignal) => fetch("api/v1/live", { signal, headers: this.headers(), cache: "no-store" });
    return followEvents(open, (name, data) => use[name]?.(data), () => handlers.onDown());
  }

  async logIn(token: string): Promise<void> {
    const response = await fetch("api/v1/session", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
    if (!response.ok) throw new DataError("denied", "The server does not accept this token.");
    const { session } = (await response.json()) as { session: string };
    localStorage.setItem(SESSION, session);
  }
}

export class BundleAccess implements Access {
  readonly isFile = true;
  readonly firstId: string;
  private readonly bundle: Bundle;
  private readonly whole = new Map<string, unknown>(); // answers that were asked for
  constructor(bundle: Bundle) {
    this.bundle = bundle;
    this.firstId = String(bundle.id);
  }

  has(path: string, parameters: Parameters = {}): boolean {
    return this.find(path, parameters) !== undefined;
  }

  get<T>(path: string, parameters: Parameters = {}): Promise<T> {
    const found = this.find(path, parameters);
    if (found === undefined) return Promise.reject(new DataError("not_found", "This report file does not contain that."));
    if (isError(found)) return Promise.reject(new DataError(found.error.kind, found.error.message));
    return Promise.resolve(found as T);
  }

  private find(path: string, { source, ...others }: Parameters): unknown {
    // The event that is shown by default is not named there.
    const named = source !== undefined && source !== this.defaultSource(path) ? source : undefined;
    const query = queryText({ ...others, source: named });
    return this.at(query ? `${path}?${query}` : path);
  }

  private defaultSource(path: string): string | undefined {
    return (this.at(path.replace(/[^/]*$/, "profile")) as Profile | undefined)?.source?.name;
  }

  private at(key: string): unknown {
    if (!this.whole.has(key)) this.whole.set(key, answerIn(this.bundle.responses, key));
    return this.whole.get(key);
  }

  live(): null {
    return null;
  }

  logIn(): Promise<void> {
    return Promise.resolve();
  }
}

function checked(bundle: Bundle): Bundle {
  if (bundle.format !== "tailor-bundle") throw new DataError("invalid", "The data in this file is no Tailor bundle.");
  if (bundle.version !== 1 && bundle.version !== 2) throw new DataError("invalid", `This page reads bundles of versions 1 and 2, not ${bundle.version}.`);
  return bundle;
}

// The bundle in the text of a report file, or a bundle itself. The text is data: nothing of it is run.
export async function bundleOf(text: string): Promise<Bundle> {
  const [, form, data] = /<script type="application\/(json|gzip)" id="tailor-bundle">([^<]*)</.exec(text) ?? [];
  let bundle: unknown;
  try {
    bundle = JSON.parse(form === "gzip" ? await unpack(data!) : (data ?? text));
  } catch (error) {
    if (error instanceof DataError) throw error;
    bundle = null;
  }
  if (typeof bundle !== "object" || bundle === null || typeof (bundle as Bundle).responses !== "object") throw new DataError("invalid", "it is no report file of tailor report --html");
  return checked(bundle as Bundle);
}

// Of the page as it was loaded.
export async function openAccess(page: Document): Promise<Access> {
  const place = page.getElementById("tailor-bundle");
  const text = place?.textContent?.trim() ?? "";
  if (text === "" || text === "null") return new HttpAccess();
  const data = place?.getAttribute("type") === "application/gzip" ? await unpack(text) : text;
  return new BundleAccess(checked(JSON.parse(data) as Bundle));
}
