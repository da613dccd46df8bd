// Pictures of the main pages, light and dark, compared with what pictures.json stores of them.
//   run pictures.mjs                       the test
//   run pictures.mjs --update [FOLDER]     writes pictures.json anew, after somebody looked at the pictures in FOLDER
//   TAILOR_PICTURES=FOLDER                 the test leaves its pictures there
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, missing, open, serve } from "./browser.mjs";
import { expect, finish, skip, test } from "./check.mjs";
import { makeBundle } from "./fixture.mjs";
import { differences, measure } from "./measure.mjs";

if (missing()) skip(missing());
const store = join(dirname(fileURLToPath(import.meta.url)), "pictures.json");
const update = process.argv[2] === "--update";
const folder = update ? process.argv[3] : process.env.TAILOR_PICTURES;
if (folder) mkdirSync(folder, { recursive: true });
const server = await serve(makeBundle({ live: true }));
const browser = await launch();
const a = "3f2a".repeat(8);
const b = "77ab".repeat(8);
const pages = {
  overview: "#/",
  execution: "#/execution/all",
  chosen: "#/execution/all?op=4&from=700000000&to=1500000000",
  near: "#/execution/all?from=700000000&to=1500000000&left=600000000&right=1600000000&marks=900000000~1000000000&tab=threads",
  code: "#/execution/all?tab=code&op=4",
  memory: "#/execution/all?tab=memory",
  iterations: "#/execution/all?tab=iterations",
  tables: "#/execution/all?tab=about&table=plan,activity",
  compare: `#/compare?a=${a}&b=${b}`,
  query: "#/fingerprint/9c1e",
};
const stored = update ? {} : JSON.parse(readFileSync(store, "utf8"));

// `style`: what is wrong with it.
async function picture(name, theme, style = "") {
  const page = await open(browser, server.url + pages[name], { colorScheme: theme, timezoneId: "UTC", locale: "en-US", bypassCSP: true });
  // All that is asked for is there, and drawn.
  await page.waitForLoadState("load");
  await page.waitForFunction(() => !/Reading|Comparing|reading the samples/.test(document.querySelector("main")?.innerText ?? "Reading"));
  if (style) await page.addStyleTag({ content: style });
  await page.evaluate(() => document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))));
  const png = await page.screenshot({ fullPage: true, animations: "disabled" });
  if (folder && !style) writeFileSync(join(folder, `${name}-${theme}.png`), png);
  const measured = await measure(page, png, theme);
  const { wrong } = page;
  await page.close();
  return { ...measured, wrong };
}

for (const name of Object.keys(pages)) {
  for (const theme of ["light", "dark"]) {
    test(`${name}, ${theme}`, async () => {
      const { wrong, ...now } = await picture(name, theme);
      expect(wrong.length === 0, wrong.join("; "));
      if (update) {
        stored[`${name} ${theme}`] = now;
        return;
      }
      const differs = differences(now, stored[`${name} ${theme}`]);
      expect(differs.length === 0, differs.join("; "));
    });
  }
}

// What the comparison must see, and what it must not.
const twins = [
  ["charts without content", "canvas { visibility: hidden !important; }", ["overview", "execution", "query"]],
  ["one column instead of two", ".columns, .two { display: block !important; }", ["execution", "compare"]],
  ["the other theme's colours", ":root { filter: invert(1) !important; }", ["execution", "compare"]],
  ["a card that is gone", "section.card:last-of-type { display: none !important; }", ["overview", "query", "compare"]],
];
if (!update) {
  for (const [what, style, names] of twins) {
    test(`the comparison sees ${what}`, async () => {
      for (const name of names) expect(differences(await picture(name, "light", style), stored[`${name} light`]).length > 0, `not on the page ${name}`);
    });
  }
  test("another font is no difference", async () => {
    for (const name of Object.keys(pages)) {
      const differs = differences(await picture(name, "light", ":root, body, button, input, select { font-family: serif !important; }"), stored[`${name} light`]);
      expect(differs.length === 0, `${name}: ${differs.join("; ")}`);
    }
  });
}

const code = await finish();
if (update && code === 0) writeFileSync(store, `${JSON.stringify(stored, null, 1).replaceAll(/\[\s+(\d+),\s+(\d+),\s+(\d+),\s+(\d+)\s+\]/g, "[$1, $2, $3, $4]")}\n`);
await browser.close();
server.close();
process.exit(code);
