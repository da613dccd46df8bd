// Colours of owners. Hues are those of Okabe and Ito, which differ for readers with any colour vision; beyond them the
// same hues come lighter or darker. Colour never stands alone: names and numbers are beside it.
import type { Owner } from "../model/owners.ts";
import type { Theme } from "../state/theme.ts";

const hues: Record<Theme, string[]> = {
  light: ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8f8a00", "#5b4fa2"],
  dark: ["#3b9bdc", "#e69f00", "#1fb98d", "#d98fb8", "#7cc8f2", "#ec7433", "#d9cf4a", "#9a8fe0"],
};

export interface Palette {
  background: string;
  panel: string;
  text: string;
  dim: string;
  line: string;
  grid: string;
  accent: string;
  component: string;
  unattributed: string;
}

const palettes: Record<Theme, Palette> = {
  light: {
    background: "#f5f6f8",
    panel: "#ffffff",
    text: "#1b2230",
    dim: "#5c6675",
    line: "#d9dee6",
    grid: "#e9ecf1",
    accent: "#0b63ce",
    component: "#9aa3b0",
    unattributed: "#3d4450",
  },
  dark: {
    background: "#11151c",
    panel: "#191f29",
    text: "#e7ebf2",
    dim: "#9aa6b8",
    line: "#2d3645",
    grid: "#242c39",
    accent: "#6cb2ff",
    component: "#6d7786",
    unattributed: "#cfd6e2",
  },
};

export const palette = (theme: Theme): Palette => palettes[theme];

export function ownerColor(owner: Owner | undefined, theme: Theme): string {
  if (!owner || owner.kind === "unattributed") return palettes[theme].unattributed;
  if (owner.kind === "component") return palettes[theme].component;
  return shadeColor(owner.shade, theme);
}

export function shadeColor(shade: number, theme: Theme): string {
  const list = hues[theme];
  const hue = list[shade % list.length]!;
  const round = Math.floor(shade / list.length) % 3;
  if (round === 0) return hue;
  return mix(hue, round === 1 ? "#ffffff" : "#000000", 0.4);
}

export function parse(color: string): [number, number, number] {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)) as [number, number, number];
}

export function mix(a: string, b: string, part: number): string {
  const [x, y] = [parse(a), parse(b)];
  return `#${x.map((value, i) => Math.round(value * (1 - part) + y[i]! * part).toString(16).padStart(2, "0")).join("")}`;
}

// Black or white, whichever is easier to read on it.
export function textOn(color: string): string {
  const [r, g, b] = parse(color).map((value) => {
    const c = value / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.25 ? "#10151d" : "#ffffff";
}
