// Numbers as people read them. A share is one word: no line ends within it.
const blank = "\u00a0";

export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  const value = share * 100;
  if (value === 0) return `0${blank}%`;
  if (value < 0.05) return `<${blank}0.1${blank}%`;
  if (value > 99.95 && value < 100) return `>${blank}99.9${blank}%`;
  return `${value >= 99.95 ? value.toFixed(0) : value.toFixed(1)}${blank}%`;
}

export function interval(low: number, high: number): string {
  return `${(low * 100).toFixed(1)}–${(high * 100).toFixed(1)}${blank}%`;
}

export function duration(ns: number): string {
  if (!Number.isFinite(ns)) return "–";
  const size = Math.abs(ns);
  if (size >= 60e9) return `${(ns / 60e9).toFixed(1)} min`;
  if (size >= 1e9) return `${(ns / 1e9).toFixed(size >= 1e10 ? 1 : 2)} s`;
  if (size >= 1e6) return `${(ns / 1e6).toFixed(size >= 1e8 ? 0 : 1)} ms`;
  if (size >= 1e3) return `${(ns / 1e3).toFixed(size >= 1e5 ? 0 : 1)} µs`;
  return `${ns.toFixed(0)} ns`;
}

// A moment, as fine as it takes to differ from another one `step` ns later.
export function moment(ns: number, step: number): string {
  if (!Number.isFinite(ns)) return "–";
  const size = Math.abs(ns);
  const [unit, name] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(unit / Math.max(1, step)) - 1e-9)));
  return `${(ns / unit).toFixed(digits)} ${name}`;
}

// The range, each of its ends as fine as its length needs it.
export function rangeText(from: number, to: number): string {
  const step = (to - from) / 100;
  return `${moment(from, step)} to ${moment(to, step)} (${duration(to - from)})`;
}

export function amount(weight: number, unit: string): string {
  return unit === "events" ? count(weight) : duration(weight);
}

// A change: with its sign, also where it is none.
export const signed = (value: number, show: (size: number) => string) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${show(Math.abs(value))}`;
export const points = (share: number) => signed(share, (size) => `${(size * 100).toFixed(1)} points`);

const dayMs = 86_400_000;

// The time of day, with as many digits as moments need to look different in a time of this length.
export function timeOfDay(ms: number, wholeMs: number): string {
  const seconds = wholeMs < 600_000;
  return new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", ...(seconds && { second: "2-digit" }), ...(wholeMs < 20_000 && { fractionalSecondDigits: wholeMs < 200 ? 3 : 2 }) });
}

// A minute of the reader's clock, as fields for dates have it: "2026-01-31T14:05".
export function localMinute(ms: number): string {
  const zone = new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - zone).toISOString().slice(0, 16);
}

// Of a bucket's begin. Buckets of days are days of UTC.
export function timeOfBucket(ms: number, bucketMs: number, wholeMs: number): string {
  const at = new Date(ms);
  if (bucketMs >= dayMs) return at.toLocaleDateString([], { month: "short", day: "numeric", timeZone: "UTC" });
  const time = timeOfDay(ms, wholeMs);
  return wholeMs > dayMs ? `${at.toLocaleDateString([], { month: "short", day: "numeric" })} ${time}` : time;
}

export const rowsText = (rows: number | null) => (rows === null ? "rows not known" : `${rows.toLocaleString("en")} rows`);

export function count(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(2)} G`;
  if (size >= 1e6) return `${(value / 1e6).toFixed(2)} M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(1)} k`;
  return Number.isInteger(value) ? String(value) : value.toFixed(1);
}

export function bytes(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value >= 1 << 30) return `${(value / (1 << 30)).toFixed(1)} GiB`;
  if (value >= 1 << 20) return `${(value / (1 << 20)).toFixed(1)} MiB`;
  if (value >= 1 << 10) return `${(value / (1 << 10)).toFixed(1)} KiB`;
  return `${value} B`;
}

// Names come from engines: control characters and those that turn the reading direction are shown as a sign. The ends of
// lines, with the blanks around them, are one blank in a name.
export function name(text: unknown, most = 200): string {
  return cut(String(text ?? "").replace(/[ \t\v\f]*[\t\v\f\r\n\u0085\u2028\u2029][ \t\v\f\r\n\u0085\u2028\u2029]*/g, " "), most);
}

// A text where there is room for its lines.
export function lines(text: unknown, most = 4000): string {
  return cut(String(text ?? "").replace(/\r\n|[\v\f\r\n\u0085\u2028\u2029]/g, "\n").replaceAll("\t", "    ").trimEnd(), most);
}

function cut(text: string, most: number): string {
  const clean = text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, "\ufffd");
  return clean.length > most ? `${clean.slice(0, most)}…` : clean;
}

// Round steps for an axis: about `wanted` of them over [from, to].
export function ticks(from: number, to: number, wanted: number): number[] {
  const span = to - from;
  if (!(span > 0) || !Number.isFinite(span)) return [];
  const raw = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw) ?? 10 * power;
  const out: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to + step * 1e-9 && out.length < 100; at += step) out.push(at);
  return out;
}
