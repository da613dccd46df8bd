// Profiles that the programs record while the test runs, and the page that they serve of them.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open } from "./browser.mjs";
import { expect } from "./check.mjs";

const bin = join(process.env.TAILOR_BUILD ?? "build", "bin");

// Why nothing can be recorded; "" if it can.
export const unbuilt = () => (existsSync(join(bin, "tailor")) && existsSync(join(bin, "weft")) ? "" : `no tailor and weft in ${bin}`);

export const run = (name, ...args) => execFileSync(join(bin, name), args, { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, NO_COLOR: "1" } });

// Of a query of weft on small data; the folder is there until the test ends.
export function record(query, repeat, ...options) {
  const folder = mkdtempSync(join(tmpdir(), "tailor-real-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const profile = join(folder, "recorded.tailor");
  run("weft", "load-tpch", "--sf", "0.01");
  run("tailor", "record", ...options, "-o", profile, "--", join(bin, "weft"), "--sf", "0.01", "--threads", "2", "--repeat", String(repeat), "--quiet", "--query", query);
  return { folder, profile };
}

// With the page of `tailor web`, until `use` is done.
export async function withServer(browser, profile, use, options = {}) {
  const server = spawn(join(bin, "tailor"), ["web", profile, "--no-browser"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const link = await new Promise((found, lost) => {
      let said = "";
      server.stdout.on("data", (data) => { said += data; const at = /http:\S+/.exec(said); if (at) found(at[0]); });
      server.on("exit", () => lost(new Error(`tailor web ended: ${said}`)));
    });
    const page = await open(browser, link, options);
    await page.waitForSelector("section[aria-label=Executions] tbody a");
    await use(page);
    // 404 is the answer of a view that has nothing to show, and the browser says so.
    const wrong = page.wrong.filter((each) => !each.includes("404"));
    expect(wrong.length === 0, wrong.join("; "));
    expect(!page.asked.some((url) => url.endsWith("/live")), "the page asks for events of a file, which has none");
    await page.close();
  } finally {
    server.kill("SIGTERM");
  }
}

export const goTo = (page, hash) => page.evaluate((to) => { location.hash = to; }, hash);

// What the server answers to the page's own session.
export const ask = (page, path) => page.evaluate(async (wanted) => {
  const headers = { Authorization: `Bearer ${localStorage.getItem("tailor-session")}` };
  return (await fetch(`api/v1/${wanted}`, { headers })).json();
}, path);
