// The state of the page is its address, behind "#": any state can be linked to, from a server and from a file.
import { signal } from "@preact/signals";
import { formatRoute, parseRoute, type Route } from "./route_text.ts";

export const route = signal<Route>(parseRoute(typeof location === "undefined" ? "" : location.hash));

let waiting = 0; // of an address that is to follow

export function go(to: Route, replace = false) {
  // What the address still had to say is a step of its own.
  if (waiting !== 0 && !replace) history.replaceState(null, "", formatRoute(route.value));
  forget();
  route.value = to;
  const hash = formatRoute(to);
  if (hash === location.hash) return;
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
}

// Changes some of the state; undefined takes a key away. Whatever is dragged replaces the address, so that "back"
// leads to the step before.
export function change(patch: Record<string, string | number | null | undefined>, replace = false) {
  go({ ...route.value, state: patched(route.value.state, patch) }, replace);
}

function patched(state: Record<string, string>, patch: Record<string, string | number | null | undefined>) {
  const out = { ...state };
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined || value === null || value === "") delete out[key];
    else out[key] = String(value);
  }
  return out;
}

function forget() {
  clearTimeout(waiting);
  waiting = 0;
}

// The same for what changes many times a second: browsers allow few changes of an address. It follows a moment later.
export function changeSoon(patch: Record<string, string | number | null | undefined>) {
  const { page, id, state } = route.value;
  route.value = { page, id, state: patched(state, patch) };
  forget();
  waiting = window.setTimeout(flushAddress, 200);
}

export function flushAddress() {
  if (waiting !== 0) go(route.value, true);
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
    forget();
    route.value = parseRoute(location.hash);
  };
  addEventListener("popstate", read);
  addEventListener("hashchange", read);
}
