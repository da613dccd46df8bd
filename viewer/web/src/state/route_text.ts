// The state of the page as its address, and back.
export interface Route {
  page: "overview" | "execution" | "compare" | "fingerprint";
  id: string; // of the execution ("last", "all" and the start of an id too), or the fingerprint
  state: Record<string, string>; // source, plan, from, to, left, right, marks, op, pipe, tid, iter, tab, lanes, parts, table, sort, all, line, fn, fun, find, fzoom, with, of, a, b, asince, auntil, bsince, buntil, q, queries, day, dayq, scale
}

// The longest text of a state that is taken from an address.
const most = 400;

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").map(decode);
  const state: Record<string, string> = {};
  for (const [key, value] of new URLSearchParams(query)) if (value !== "") state[key] = value.slice(0, most);
  if (parts[0] === "execution" && parts[1]) return { page: "execution", id: parts[1].slice(0, most), state };
  if (parts[0] === "fingerprint" && parts[1]) return { page: "fingerprint", id: parts[1].slice(0, most), state };
  if (parts[0] === "compare") return { page: "compare", id: "", state };
  return { page: "overview", id: "", state };
}

export function formatRoute(route: Route): string {
  const query = new URLSearchParams(Object.entries(route.state).filter(([, value]) => value !== "")).toString();
  const path =
    route.page === "overview" ? "" : route.page === "compare" ? "compare" : `${route.page}/${encodeURIComponent(route.id)}`;
  return `#/${path}${query ? `?${query}` : ""}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
