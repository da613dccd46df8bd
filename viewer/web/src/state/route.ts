// The state of the page is its address, behind "#": any state can be linked to, from a server and from a file.
import { signal } from "@preact/signals";
import { formatRoute, parseRoute, type Route } from "./route_text.ts";

export const route = signal<Route>(parseRoute(typeof location === "undefined" ? "" : location.hash));

export function go(to: Route, replace = false) {
  route.value = to;
  const hash = formatRoute(to);
  if (hash === location.hash) return;
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
}

// Changes some of the state; undefined takes a key away. Whatever is dragged replaces the address, so that "back"
// leads to the step before.
export function change(patch: Record<string, string | number | null | undefined>, replace = false) {
  const state = { ...route.value.state };
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined || value === null || value === "") delete state[key];
    else state[key] = String(value);
  }
  go({ ...route.value, state }, replace);
}

export function link(page: Route["page"], id = "", state: Record<string, string> = {}): string {
  return formatRoute({ page, id, state });
}

// The token in a link of `tailor web`, which leaves the address at once; "" where there is none.
export function takeStart(): string {
  const found = /^#start=(\w+)$/.exec(location.hash);
  if (!found) return "";
  history.replaceState(null, "", location.pathname);
  route.value = parseRoute("");
  return found[1]!;
}

export function followAddress() {
  const read = () => {
    route.value = parseRoute(location.hash);
  };
  addEventListener("popstate", read);
  addEventListener("hashchange", read);
}
