// Dark or light: what the system prefers, until a reader chooses.
import { signal } from "@preact/signals";

export type Theme = "light" | "dark";
const key = "tailor-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function stored(): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // a file opened from disk may have no storage
  }
}

function current(): Theme {
  const chosen = stored();
  if (chosen === "light" || chosen === "dark") return chosen;
  return system.matches ? "dark" : "light";
}

export const theme = signal<Theme>(current());

export function startTheme() {
  const show = () => {
    document.documentElement.dataset.theme = theme.value;
  };
  theme.subscribe(show);
  system.addEventListener("change", () => {
    if (stored() === null) theme.value = system.matches ? "dark" : "light";
  });
}

export function toggleTheme() {
  theme.value = theme.value === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(key, theme.value);
  } catch {
    // not kept then
  }
}
