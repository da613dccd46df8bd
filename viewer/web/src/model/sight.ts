// The part of the time that charts show ("in sight"): zoomed, moved, and kept within all the time that there is. And the parts
// that a reader marked. All times are ns since the origin.
export interface Range {
  from: number;
  to: number;
}

// A chart shows no less than that: what is shorter than its clock's error says nothing.
export const leastSight = 100;
export const mostMarks = 10;

const lengthOf = (range: Range) => range.to - range.from;
export const isWhole = (sight: Range, whole: Range) => sight.from <= whole.from && sight.to >= whole.to;

// Of this length at least, and moved so that it lies within the whole.
function within(from: number, length: number, whole: Range): Range {
  const long = Math.min(lengthOf(whole), Math.max(leastSight, length));
  const begin = Math.max(whole.from, Math.min(whole.to - long, from));
  return { from: begin, to: begin + long };
}

// What an address says, which may be anything. Null: it does not say.
export function sightOf(left: number | null, right: number | null, whole: Range): Range {
  const from = Math.max(whole.from, left ?? whole.from);
  const to = Math.min(whole.to, right ?? whole.to);
  return from < to ? within(from, to - from, whole) : whole;
}

// `at` stays where it is. A factor below 1 shows less time.
export function zoomAt(sight: Range, whole: Range, at: number, factor: number): Range {
  const length = Math.min(lengthOf(whole), Math.max(leastSight, lengthOf(sight) * factor));
  const part = (at - sight.from) / lengthOf(sight);
  return within(at - Math.max(0, Math.min(1, part)) * length, length, whole);
}

export const moveBy = (sight: Range, whole: Range, by: number) => within(sight.from + by, lengthOf(sight), whole);

// What covers both.
export const hull = (a: Range, b: Range): Range => ({ from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) });

// How much of [from, to) lies in a range.
export const overlap = (from: number, to: number, range: Range) => Math.max(0, Math.min(to, range.to) - Math.max(from, range.from));

// "from~to,from~to" of an address, by time. What is no range is left out.
export function parseMarks(text: string | undefined): Range[] {
  const found = (text ?? "").split(",").flatMap((each): Range[] => {
    const [, from, to] = /^(-?\d{1,16})~(-?\d{1,16})$/.exec(each) ?? [];
    return from !== undefined && Number(from) < Number(to) ? [{ from: Number(from), to: Number(to) }] : [];
  });
  return found.slice(0, mostMarks).sort((a, b) => a.from - b.from || a.to - b.to);
}

export const formatMarks = (marks: Range[]) => marks.map(({ from, to }) => `${from}~${to}`).join(",");

// Marks a range, or takes its mark away. No more than there is room for.
export function withMark(marks: Range[], range: Range): Range[] {
  const mark = { from: Math.floor(range.from), to: Math.ceil(range.to) };
  const others = marks.filter((each) => each.from !== mark.from || each.to !== mark.to);
  if (others.length < marks.length || others.length >= mostMarks) return others;
  return [...others, mark].sort((a, b) => a.from - b.from || a.to - b.to);
}
