// The parts of ten pages at two sizes: none is cut off, none lies on another, none is empty.
import { launch, missing, open, serve } from "./browser.mjs";
import { expect, finish, skip, test } from "./check.mjs";
import { makeBundle } from "./fixture.mjs";

if (missing()) skip(missing());
const server = await serve(makeBundle({ live: true }));
const browser = await launch();
const a = "3f2a".repeat(8);
const b = "77ab".repeat(8);
const pages = {
  overview: "#/",
  execution: "#/execution/all",
  functions: "#/execution/all?tab=functions&fn=list",
  chosen: "#/execution/all?op=4&from=700000000&to=1500000000&lanes=thread",
  code: "#/execution/all?tab=code&op=4",
  memory: "#/execution/all?tab=memory",
  threads: "#/execution/all?tab=threads",
  tables: "#/execution/all?tab=about&table=plan,activity",
  compare: `#/compare?a=${a}&b=${b}`,
  query: "#/fingerprint/9c1e",
};
const sizes = [[1440, 900], [900, 700]];

// What is wrong with the boxes of the page as it stands.
const findings = (page) => page.evaluate(() => {
  const out = [];
  const shown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const nameOf = (element) => `${element.tagName.toLowerCase()}${element.className?.baseVal ?? element.className ? `.${element.className?.baseVal ?? element.className}` : ""} "${(element.textContent ?? "").trim().slice(0, 40)}"`;
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowX + getComputedStyle(element).overflowY);
  const scroller = (element) => { for (let at = element; at; at = at.parentElement) if (scrolls(at)) return at; return null; };
  if (document.documentElement.scrollWidth > innerWidth + 1) out.push(`the page is ${document.documentElement.scrollWidth} wide, and the window ${innerWidth}`);
  const cards = [...document.querySelectorAll("main section.card")].filter(shown);
  if (cards.length === 0) out.push("no part at all");
  for (const card of cards) {
    const box = card.getBoundingClientRect();
    const rest = [...card.children].filter((each) => each.tagName !== "HEADER" && shown(each) && each.getBoundingClientRect().height > 0);
    const asks = card.querySelector("header button:only-of-type")?.textContent.startsWith("Show"); // what is shown when somebody asks for it
    if (rest.length === 0 && !asks) out.push(`${card.getAttribute("aria-label")} is empty`);
    for (const other of cards) {
      if (other === card || card.contains(other) || other.contains(card)) continue;
      const on = other.getBoundingClientRect();
      const [x, y] = [Math.min(box.right, on.right) - Math.max(box.left, on.left), Math.min(box.bottom, on.bottom) - Math.max(box.top, on.top)];
      if (x > 2 && y > 2) out.push(`${card.getAttribute("aria-label")} lies on ${other.getAttribute("aria-label")}`);
    }
  }
  // What of it no ancestor hides.
  const inSight = (rect, element) => {
    const out = { left: rect.left, right: rect.right, top: rect.top, bottom: rect.bottom };
    for (let at = element; at; at = at.parentElement) {
      if (getComputedStyle(at).overflowX !== "hidden") continue;
      const box = at.getBoundingClientRect();
      Object.assign(out, { left: Math.max(out.left, box.left), right: Math.min(out.right, box.right), top: Math.max(out.top, box.top), bottom: Math.min(out.bottom, box.bottom) });
    }
    return out;
  };
  // Texts: pieces of one line each, with the element whose text it is.
  const texts = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.textContent.trim() === "" || !shown(element) || element.closest(".hidden, option, .dot, title")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const visible = inSight(rect, element);
      if (visible.right - visible.left > 1 && visible.bottom - visible.top > 1) texts.push({ element, rect: visible });
    }
    // With an ellipsis the reader sees that there is more, and a title has all of it.
    const clipped = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0 && getComputedStyle(element).overflowX === "hidden";
    if (clipped && getComputedStyle(element).textOverflow !== "ellipsis") out.push(`${nameOf(element)} is cut off`);
  }
  for (const { element, rect } of texts) {
    const card = element.closest("section.card");
    if (!card || scroller(element) !== scroller(card)) continue;
    const box = card.getBoundingClientRect();
    if (rect.left < box.left - 1 || rect.right > box.right + 1) out.push(`${nameOf(element)} is beyond its part`);
  }
  texts.sort((x, y) => x.rect.top - y.rect.top);
  for (let i = 0; i < texts.length; i++) {
    const one = texts[i];
    for (let j = i + 1; j < texts.length && texts[j].rect.top < one.rect.bottom; j++) {
      const two = texts[j];
      if (one.element === two.element || one.element.contains(two.element) || two.element.contains(one.element) || scroller(one.element) !== scroller(two.element)) continue;
      const [x, y] = [Math.min(one.rect.right, two.rect.right) - Math.max(one.rect.left, two.rect.left), Math.min(one.rect.bottom, two.rect.bottom) - Math.max(one.rect.top, two.rect.top)];
      const lower = Math.min(one.rect.bottom - one.rect.top, two.rect.bottom - two.rect.top);
      if (x > 3 && y > 0.4 * lower && !one.element.closest(".sticky") && !two.element.closest(".sticky")) out.push(`${nameOf(one.element)} lies on ${nameOf(two.element)}`);
    }
  }
  return [...new Set(out)];
});

async function show(page, name) {
  await page.evaluate((hash) => { location.hash = hash; }, pages[name]);
  await page.waitForFunction(() => document.querySelector("main section.card") && !/Reading|Comparing|reading the samples/.test(document.querySelector("main").innerText));
  await page.evaluate(() => document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))));
}

for (const [width, height] of sizes) {
  test(`nothing is cut off, empty or on something else in ${width} by ${height}`, async () => {
    const page = await open(browser, server.url, { viewport: { width, height } });
    const wrong = [];
    for (const name of Object.keys(pages)) {
      await show(page, name);
      for (const each of await findings(page)) wrong.push(`${name}: ${each}`);
    }
    expect(page.wrong.length === 0, page.wrong.join("; "));
    await page.close();
    expect(wrong.length === 0, wrong.join("\n  "));
  });
}

// What the check must see.
const twins = [
  ["a heading that is cut off", "h2 { width: 20px; overflow: hidden; white-space: nowrap; }", "execution", /is cut off/],
  ["parts on each other", "#card-activity { margin-bottom: -60px; }", "execution", /lies on|cut/],
  ["a part that is empty", "#card-activity > :not(header) { display: none; }", "execution", /is empty/],
  ["texts on each other", ".beside li { position: relative; } .beside li b { position: absolute; left: 30px; }", "execution", /lies on/],
  ["a page that is too wide", "main { width: 1700px; }", "overview", /wide, and the window/],
];
test("the check sees what is wrong", async () => {
  for (const [what, style, name, wanted] of twins) {
    const page = await open(browser, server.url, { bypassCSP: true });
    await page.addStyleTag({ content: style });
    await show(page, name);
    const found = await findings(page);
    expect(found.some((each) => wanted.test(each)), `${what}: ${found.join("; ")}`);
    await page.close();
  }
});

const code = await finish();
await browser.close();
server.close();
process.exit(code);
