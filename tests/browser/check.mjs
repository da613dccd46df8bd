// The smallest test runner that prints what held: test("what", async () => ...), then finish().
const tests = [];
export const test = (what, run) => tests.push([what, run]);

export function skip(reason) {
  console.log(`SKIP: ${reason}`);
  process.exit(77);
}

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
