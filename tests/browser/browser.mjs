// What the browser tests share: Debian's Chromium without a window, and pages made of a bundle.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "viewer", "web");
// The packages are those of the page.
const packages = createRequire(join(root, "package.json"));
export const chromium = process.env.TAILOR_CHROMIUM ?? "/usr/bin/chromium";
export const template = join(root, "dist", "report.html");

// Why the tests cannot run here; "" if they can.
export function missing() {
  if (!existsSync(chromium)) return `no browser at ${chromium}`;
  if (!existsSync(template)) return "the page is not built (npm run build)";
  if (!existsSync(join(root, "node_modules", "playwright-core"))) return "playwright-core is not installed (npm ci)";
  return "";
}

export async function launch() {
  return packages("playwright-core").chromium.launch({ executablePath: chromium });
}

// Where the page is, as it says itself: what Playwright has heard of it comes later.
export const addressOf = (page) => page.evaluate(() => location.href);

export const axeSource = () => readFileSync(packages.resolve("axe-core/axe.min.js"), "utf8");

// As `tailor report --html` does it: no "<" in the data, so that no name can end the element.
export function reportOf(bundle) {
  const [before, after] = readFileSync(template, "utf8").split('id="tailor-bundle">null<');
  return `${before}id="tailor-bundle">${JSON.stringify(bundle).replaceAll("<", "\\u003c")}<${after}`;
}

export function writeReport(bundle) {
  const folder = mkdtempSync(join(tmpdir(), "tailor-web-"));
  const path = join(folder, "report.html");
  writeFileSync(path, reportOf(bundle));
  return { url: pathToFileURL(path).href, remove: () => rmSync(folder, { recursive: true }) };
}

// A server that answers as docs/http-api.md says, out of a bundle, with the policy that tailord sends. `answer` is asked
// first, with the path and the parameters: what it does not know (undefined) is in the bundle.
export async function serve(bundle, answer = () => undefined) {
  const types = { html: "text/html", js: "text/javascript", css: "text/css" };
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://localhost");
    const send = (status, type, body) => {
      response.writeHead(status, { "Content-Type": type, "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; worker-src 'self' blob:" });
      response.end(body);
    };
    if (!url.pathname.startsWith("/api/v1/")) {
      const path = url.pathname === "/" ? "index.html" : url.pathname.slice(1);
      const file = join(root, "dist", path);
      if (path.includes("..") || !existsSync(file)) return send(404, "text/plain", "no");
      return send(200, types[path.split(".").pop()] ?? "text/plain", readFileSync(file));
    }
    const path = url.pathname.slice("/api/v1/".length);
    if (path === "live") {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write(`event: status\ndata: ${JSON.stringify(bundle.responses.status)}\n\n`);
      return undefined;
    }
    // What a page may ask for more or less of.
    url.searchParams.delete("points");
    url.searchParams.delete("many");
    url.searchParams.delete("timeout_ms");
    url.searchParams.sort();
    const key = url.search.length > 1 ? `${path}${url.search}` : path;
    const found = answer(path, url.searchParams) ?? bundle.responses[decodeURIComponent(key)];
    if (found === undefined) return send(404, "application/json", JSON.stringify({ error: { kind: "not_found", message: `no ${key}` } }));
    return send(found.error?.kind ? 404 : 200, "application/json", JSON.stringify(found));
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => { server.closeAllConnections(); server.close(); } };
}

// Until what a page draws for its last change is on the screen.
export const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50)))));

// Moves the mouse to a place until the page shows `selector`: what it reads meanwhile can move or draw anew what lies there.
// `place`: of the element's box, as it is then.
export async function hoverUntil(page, element, place, selector) {
  for (let moved = 0; (await page.locator(selector).count()) === 0; moved++) {
    if (moved === 600) throw new Error(`${selector} is not shown`);
    const [x, y] = place(await element.boundingBox());
    await page.mouse.move(x + (moved % 2), y);
    await page.waitForTimeout(50);
  }
}

// A page that remembers what went wrong in it.
export async function open(browser, url, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, ...options });
  page.setDefaultTimeout(90000);
  page.wrong = [];
  page.asked = [];
  page.on("pageerror", (error) => page.wrong.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.wrong.push(message.text()));
  page.on("dialog", (dialog) => { page.wrong.push(`a dialog opened: ${dialog.message()}`); void dialog.dismiss(); });
  page.on("request", (request) => page.asked.push(request.url()));
  await page.goto(url);
  await page.waitForSelector("main, .message.error, form.login", { timeout: 90000 });
  return page;
}
