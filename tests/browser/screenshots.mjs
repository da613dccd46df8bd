// Pictures of the main pages: node tests/screenshots.mjs FOLDER [REPORT.html]
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch, writeReport } from "./browser.mjs";
import { makeBundle } from "./fixture.mjs";

const folder = process.argv[2] ?? "shots";
mkdirSync(folder, { recursive: true });
const given = process.argv[3];
const report = given ? { url: pathToFileURL(resolve(given)).href, remove() {} } : writeReport(makeBundle());
const browser = await launch();
const a = "3f2a".repeat(8);
const b = "77ab".repeat(8);
const pages = [
  ["execution", "#/execution/all", "light"],
  ["execution-dark", "#/execution/all?op=4&from=700000000&to=1500000000", "dark"],
  ["code", "#/execution/all?tab=code&op=4", "light"],
  ["memory", "#/execution/all?tab=memory", "dark"],
  ["threads", "#/execution/all?tab=threads", "light"],
  ["iterations", "#/execution/all?tab=iterations", "light"],
  ["about", "#/execution/all?tab=about&table=plan,activity", "light"],
  ["overview", "#/?x=1", "light"],
  ["compare", `#/compare?a=${a}&b=${b}`, "light"],
  ["fingerprint", "#/fingerprint/9c1e", "dark"],
];
const only = process.argv[4];
for (const [name, hash, scheme] of pages) {
  if (only && !only.split(",").includes(name)) continue;
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme: scheme });
  page.on("pageerror", (error) => console.log(name, "page error:", error.message));
  page.on("console", (message) => message.type() === "error" && console.log(name, "console:", message.text()));
  await page.goto(report.url + hash);
  await page.waitForSelector("main, .message.error", { timeout: 10000 });
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  await page.close();
}
await browser.close();
report.remove();
