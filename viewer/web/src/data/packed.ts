// What a report file holds: compressed, and what several of its answers share once (docs/http-api.md, "bundle"). A file comes
// from anywhere: what makes no sense is left out, and what it takes is bounded.
import { DataError } from "./data_error.ts";
import type { CodeObject, Listing } from "./types.ts";

const mostBytes = 1 << 29; // of a bundle
const deepest = 3; // "same" as a "like" of a listing

// The text that was compressed by gzip and written in base64.
export async function unpack(text: string): Promise<string> {
  if (typeof DecompressionStream === "undefined") throw new DataError("invalid", "This file needs a browser of 2023 or newer.");
  const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const decoder = new TextDecoder();
  const out: string[] = [];
  for (let size = 0; ; ) {
    const { value, done } = await reader.read();
    if (done) return out.join("") + decoder.decode();
    size += value.length;
    if (size > mostBytes) {
      await reader.cancel();
      throw new DataError("invalid", `It holds more than ${mostBytes >> 20} MiB.`);
    }
    out.push(decoder.decode(value, { stream: true }));
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

// The rows of `base`, but for those that changed, by their place.
function changed<Row>(base: Row[], changes: unknown): Row[] {
  const out = [...base];
  for (const [place, row] of Object.entries(isObject(changes) ? changes : {})) {
    const at = Number(place);
    if (Number.isInteger(at) && at >= 0 && at < out.length && isObject(row)) out[at] = row as Row;
  }
  return out;
}

function listingOf(base: Listing, answer: Record<string, unknown>): Listing {
  const assembly = Array.isArray(answer["assembly"]) ? (answer["assembly"] as (CodeObject & { like?: number })[]).filter(isObject) : undefined;
  return {
    ...(isObject(answer["rest"]) ? answer["rest"] : {}),
    lines: changed(base.lines, answer["lines"]),
    ...(assembly && {
      assembly: assembly.map(({ like, ...object }) => {
        const from = Number.isInteger(like) ? base.assembly?.[like!] : undefined;
        return from && Array.isArray(from.instructions) ? { ...object, instructions: changed(from.instructions, object.instructions) } : { ...object, instructions: Array.isArray(object.instructions) ? object.instructions : [] };
      }),
    }),
  } as Listing;
}

// The answer of that key, whole. Undefined: the file has none.
export function answerIn(responses: Record<string, unknown>, key: string, depth = 0): unknown {
  const answer = Object.hasOwn(responses, key) ? responses[key] : undefined;
  if (!isObject(answer) || depth > deepest) return depth > deepest ? undefined : answer;
  if (typeof answer["same"] === "string") return answerIn(responses, answer["same"], depth + 1);
  if (typeof answer["like"] !== "string") return answer;
  const base = answerIn(responses, answer["like"], depth + 1);
  return isObject(base) && Array.isArray(base["lines"]) ? listingOf(base as unknown as Listing, answer) : undefined;
}
