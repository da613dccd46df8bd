import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// The smallest test runner that prints what held: test("what", async () => ...), then finish().
const tests = [];
export const test = (what, run) => tests.push([what, run]);

export function skip(reason) {
  console.log(`SKIP: ${reason}`);
  process.exit(77);
}

// Why this host lets nobody sample, asked of the kernel and not of the recorder under test; "" if it does.
export function samplingDenied() {
  const script = join(dirname(fileURLToPath(import.meta.url)), "..", "support", "host_allows.py");
  const asked = spawnSync("python3", [script, "sampling"], { encoding: "utf8" });
  if (asked.error) throw asked.error;
  return asked.status === 0 ? "" : asked.stdout.trim() || asked.stderr.trim();
}

// What somebody reads, with common blanks: those within a share end no line.
export const plain = (text) => text.replaceAll("\u00a0", " ");

export function expect(held, what) {
  if (!held) throw new Error(what);
}

export function near(a, b, what, slack = 1e-9) {
  expect(Math.abs(a - b) <= slack * Math.max(1, Math.abs(a), Math.abs(b)), `${what}: ${a} is not ${b}`);
}

export async function finish() {
  let failed = 0;
  for (const [what, run] of tests) {
    try {
      await run();
      console.log(`held: ${what}`);
    } catch (error) {
      failed++;
      console.log(`Error: ${what}: ${error.message}`);
    }
  }
  return failed === 0 ? 0 : 1;
}
