// A picture of a report's page: node tests/browser/picture.mjs REPORT.html OUT.png [STATE [WIDTH HEIGHT]]
// STATE is what follows #/execution/all in the address, for example "?tab=memory".
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch, missing } from "./browser.mjs";

const [report, out, state = "", width = "1280", height = "800"] = process.argv.slice(2);
if (!out) {
  console.error("usage: picture.mjs REPORT.html OUT.png [STATE [WIDTH HEIGHT]]");
  process.exit(2);
}
const why = missing();
if (why) {
  console.error(why);
  process.exit(77);
}
const browser = await launch();
const page = await browser.newPage({ viewport: { width: Number(width), height: Number(height) }, colorScheme: "light" });
await page.goto(pathToFileURL(resolve(report)).href);
await page.waitForSelector("main.execution", { timeout: 60000 });
const open = await page.evaluate(() => location.hash.split("?")[0]);
await page.goto(pathToFileURL(resolve(report)).href + open + state);
await page.waitForTimeout(1500);
await page.screenshot({ path: out });
await browser.close();
