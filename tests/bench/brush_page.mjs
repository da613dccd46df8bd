// What a step of brushing takes in the page of a report file with very many accesses to memory, in milliseconds.
//   brush_page.mjs [POINTS] [STEPS]      the last line is JSON
// tests/bench/big_bounds.py starts this, and reports.
import { brushSteps } from "../browser/brush.mjs";
import { launch, missing, open, writeReport } from "../browser/browser.mjs";
import { makeBundle } from "../browser/fixture.mjs";

const [points = "1000000", steps = "20"] = process.argv.slice(2);
const why = missing();
if (why) {
  console.error(why);
  process.exit(77);
}
const report = writeReport(makeBundle({ samples: Math.min(Number(points), 200_000), points: Number(points), ids: ["all"] }));
const browser = await launch();
try {
  const page = await open(browser, `${report.url}#/execution/all?tab=memory`);
  page.setDefaultTimeout(300_000);
  await page.waitForSelector(".memorypanel canvas");
  const all = (await brushSteps(page, Number(steps))).sort((one, other) => one - other);
  console.log(JSON.stringify({ median_ms: all[Math.floor(all.length / 2)], slowest_ms: all.at(-1) }));
} finally {
  await browser.close();
  report.remove();
}
