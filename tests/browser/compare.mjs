// Comparisons from a server: of two times of a query, of a run with all runs of it, and how sure a change is.
import { launch, missing, open, serve, writeReport } from "./browser.mjs";
import { expect, finish, plain, skip, test } from "./check.mjs";
import { makeBundle } from "./fixture.mjs";

if (missing()) skip(missing());
const bundle = makeBundle();
const browser = await launch();
const a = "3f2a".repeat(8);
const b = "77ab".repeat(8);
const text = async (page, selector) => plain(await page.locator(selector).first().textContent());

test("two times of a query are compared by what an execution costs, and the times can be chosen", async () => {
  const responses = structuredClone(bundle.responses);
  Object.assign(responses["fingerprints/9c1e"], { first_ms: 1764806400000, last_ms: 1764892800000 });
  const runs = (executions, left_out, other_plans) => ({ executions, sampled: 2, left_out, other_plans });
  const compare = { ...responses[`compare?a=${a}&b=${b}`], executions: { a: 3, b: 6 }, runs: { a: runs(3, 0, 0), b: runs(9, 4, 3) } };
  const asked = [];
  const server = await serve({ ...bundle, responses }, (path, parameters) => {
    if (path !== "compare") return undefined;
    asked.push(Object.fromEntries(parameters));
    return parameters.get("b_until") ? { error: { kind: "not_found", message: "b: no execution then" } } : compare;
  });
  const page = await open(browser, `${server.url}#/fingerprint/9c1e`, { timezoneId: "UTC" });
  await page.locator(".heading a:has-text('Compare two times')").click();
  await page.waitForSelector(".dumbbell");
  // Each half of the time in which the query ran.
  const wanted = { a: "fingerprint:9c1e", a_until: "1764849600000", b: "fingerprint:9c1e", b_since: "1764849600000" };
  expect(JSON.stringify(asked[0]) === JSON.stringify(wanted), JSON.stringify(asked[0]));
  const facts = (side) => text(page, `section.side.${side} p`);
  expect(/3 executions$/.test((await facts("A")).trim()), await facts("A"));
  expect(/6 executions · 4 older ones are left out · 3 with other plans are left out/.test(await facts("B")), await facts("B"));
  const sum = (side) => [...compare.operators, ...compare.rest].reduce((all, row) => all + row[side].weight, 0);
  const less = 1 - sum("b") / 6 / (sum("a") / 3);
  const verdict = await text(page, ".verdict");
  expect(verdict.startsWith(`An execution of B cost ${(less * 100).toFixed(1)} % less than A`), `${verdict}, not ${less}`);
  expect((await page.locator("input[aria-label='B from']").inputValue()) === "2025-12-04T12:00", "the time is not shown");
  const until = page.locator("input[aria-label='B until']");
  await until.fill("2025-12-04T18:00");
  await page.waitForSelector("[role=alert]:has-text('no execution then')");
  expect(asked.at(-1).b_until === "1764871200000", JSON.stringify(asked.at(-1)));
  // Another time can be chosen where this one has nothing.
  await until.fill("");
  await page.waitForSelector(".dumbbell");
  expect(!(await page.evaluate(() => location.hash)).includes("buntil"), "a time that was taken away is in the address");
  const wrong = page.wrong.filter((each) => !each.includes("404")); // the answer above
  expect(wrong.length === 0, wrong.join("; "));
  await page.close();
  server.close();
});

test("a change of the cost has its interval, and is none where too few samples say it", async () => {
  const known = bundle.responses[`compare?a=${a}&b=${b}`];
  const said = async (growth) => {
    const rows = (list) => list.map((row) => ({ ...row, growth }));
    const compare = { ...known, growth, operators: rows(known.operators), rest: rows(known.rest) };
    const server = await serve(bundle, (path) => (path === "compare" ? compare : undefined));
    const page = await open(browser, `${server.url}#/compare?a=${a}&b=${b}&table=compare`);
    await page.waitForSelector("#card-compare tbody tr");
    const out = [await text(page, ".verdict"), await text(page, "#card-compare tbody tr")];
    await page.close();
    server.close();
    return out;
  };
  const [sure, row] = await said({ ratio: 1.2, low: 1.1, high: 1.3 });
  expect(/than A \(\+10\.0 % to \+30\.0 %\)\. /.test(sure) && row.includes("+10.0 % to +30.0 %"), `${sure} ${row}`);
  const [chance] = await said({ ratio: 1.05, low: 0.9, high: 1.2 });
  expect(/\(−10\.0 % to \+20\.0 %\), no more than chance explains\./.test(chance), chance);
  const [few, rowOfFew] = await said(null);
  expect(/too few samples/.test(few) && !/than A/.test(few) && rowOfFew.includes("interval not known"), `${few} ${rowOfFew}`);
});

test("what is left out of a side is told, and no cost of a run where nobody knows how many runs there were", async () => {
  const known = bundle.responses[`compare?a=${a}&b=${b}`];
  const runs = { executions: 9, sampled: 2, left_out: 0, other_plans: 0, runs_unknown: 3, notes: ["5 executions are left out: the host was booted since then"] };
  const said = async (more) => {
    const server = await serve(bundle, (path) => (path === "compare" ? { ...known, executions: { a: 9, b: 1 }, runs: { a: runs, b: null }, ...more } : undefined));
    const page = await open(browser, `${server.url}#/compare?a=fingerprint:9c1e&b=${b}&table=compare`);
    await page.waitForSelector("#card-compare tbody tr");
    const out = plain(await page.locator("main").innerText());
    expect(page.wrong.length === 0, page.wrong.join("; "));
    await page.close();
    server.close();
    return out;
  };
  const sure = await said({});
  for (const part of ["3 of runs that were added up, not known how many, are left out", "5 executions are left out: the host was booted", "An execution of B cost"]) expect(sure.includes(part), `${part} is not in: ${sure}`);
  const unsure = await said({ runs_unknown: true, growth: null });
  expect(unsure.includes("how often each side ran its plan is not known"), unsure);
  expect(!/An execution of B cost|cost of a run|too few samples/i.test(unsure), unsure);
});

test("a run leads to the comparison with all runs of its query, where somebody can be asked for it", async () => {
  const server = await serve(bundle);
  const page = await open(browser, `${server.url}#/execution/${a}`);
  const to = page.locator(".heading a:has-text('Compare with all runs')");
  await to.waitFor();
  const address = decodeURIComponent(await to.getAttribute("href"));
  expect(address.includes("a=fingerprint:9c1e") && address.includes(`b=${a}`), address);
  await page.close();
  server.close();
  const file = writeReport(bundle);
  const still = await open(browser, `${file.url}#/execution/${a}`);
  await still.waitForSelector(".node");
  expect((await still.locator("a:has-text('Compare with all runs')").count()) === 0, "a file offers what it does not have");
  await still.close();
  file.remove();
});

test("what sums of deleted samples do not know is said", async () => {
  const known = bundle.responses[`compare?a=${a}&b=${b}`];
  const side = (cost) => cost && { ...cost, share_low: null, share_high: null, shared_weight: null };
  const unknown = (row) => ({ ...row, significant: null, a: side(row.a), b: side(row.b) });
  const compare = { ...known, a: {}, b: {}, sums: true, same_plan: null, executions: { a: 3, b: 6 }, unwritten: { a: 0, b: 12 }, operators: known.operators.map(unknown), rest: known.rest.map(unknown) };
  const server = await serve(bundle, (path) => (path === "compare" ? compare : undefined));
  const page = await open(browser, `${server.url}#/compare?a=fingerprint:9c1e&b=fingerprint:9c1e&auntil=1764849600000&bsince=1764849600000&table=compare`);
  await page.waitForSelector("#card-compare tbody tr");
  const said = plain(await page.locator("main").innerText());
  for (const part of ["sums of whole hours", "plans not known", "more than chance is not known", "12 samples of the host are missing", "interval not known"]) expect(said.includes(part), `${part} is not in: ${said}`);
  expect(!/undefined|NaN|null/.test(said), said);
  expect((await page.locator(".dumbbell .ci").count()) === 0, "an interval is drawn, and none is known");
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  server.close();
});

const code = await finish();
await browser.close();
process.exit(code);
