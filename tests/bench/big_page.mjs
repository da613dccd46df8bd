// What the page takes of a profile with very many samples: the first picture, zooming, and the memory of its JavaScript.
//   big_page.mjs LINK [ZOOMS]      LINK as `tailor web` prints it; the last line is JSON
// tests/bench/big_profiles.py makes the profile, starts `tailor web` and this, and reports.
import { launch, missing } from "../browser/browser.mjs";

const [link, zooms = "20"] = process.argv.slice(2);
const why = link ? missing() : "usage: big_page.mjs LINK [ZOOMS]";
if (why) {
  console.error(why);
  process.exit(link ? 77 : 2);
}
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
page.setDefaultTimeout(300_000);
const now = () => performance.now();
const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];

// The link lets the browser in, and leads to the page.
await page.goto(link);
await page.waitForSelector("section[aria-label=Executions]");
const begin = now();
await page.goto(`${new URL(link).origin}/?again#/execution/all`);
await page.waitForSelector(".node");
const picture = now() - begin;
await page.waitForSelector("#card-activity canvas");
const overTime = now() - begin;

// Half of the time, half of that, and so on, and the whole again: each from the change of the address to the frame after the next.
const [from, to] = await page.evaluate(async () => {
  const profile = await (await fetch("api/v1/executions/all/timeline?buckets=1")).json();
  return [profile.from_ns, profile.to_ns];
});
const steps = [];
for (let i = 0; i < Number(zooms); i++) {
  const width = (to - from) / 2 ** (i % 8);
  const left = from + (to - from - width) * ((i * 0.37) % 1);
  steps.push(await page.evaluate(async (hash) => {
    const start = performance.now();
    location.hash = hash;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - start;
  }, `#/execution/all?from=${Math.floor(left)}&to=${Math.ceil(left + width)}`));
}
// A part with few samples comes one by one.
const part = (to - from) / 100;
const asked = now();
await page.evaluate((hash) => { location.hash = hash; }, `#/execution/all?from=${Math.floor(from)}&to=${Math.ceil(from + part)}`);
const onDemand = await page.waitForSelector(".sliced:has-text('are here one by one')", { timeout: 120_000 }).then(() => now() - asked, () => null);
const session = await page.context().newCDPSession(page);
await session.send("HeapProfiler.collectGarbage");
// Columns of numbers lie beside the heap, in buffers.
const { usedSize, backingStorageSize = 0 } = await session.send("Runtime.getHeapUsage");
const sliced = await page.locator(".sliced").allTextContents();
await browser.close();
console.log(JSON.stringify({ picture_ms: picture, over_time_ms: overTime, zoom_ms: median(steps), slowest_zoom_ms: Math.max(...steps), part_ms: onDemand, heap_megabytes: (usedSize + backingStorageSize) / 1e6, said: sliced[0] ?? "" }));
