// Names that want to be more than names, and more of everything than is usual.
import { brushSteps } from "./brush.mjs";
import { launch, missing, open, writeReport } from "./browser.mjs";
import { expect, finish, skip, test } from "./check.mjs";
import { hostile, makeBundle } from "./fixture.mjs";

if (missing()) skip(missing());
const browser = await launch();
const mostPasses = 50; // over a million numbers, for one step of brushing a million points
const a = "3f2a".repeat(8);
const b = "77ab".repeat(8);

test("names with markup stay text on every page", async () => {
  const report = writeReport(makeBundle({ name: hostile, samples: 500, points: 500 }));
  for (const hash of ["#/execution/all", "#/execution/all?tab=code&code=all", "#/execution/all?tab=memory&table=memory", "#/execution/all?tab=threads&table=threads", "#/execution/all?tab=functions&fn=tree", "#/execution/all?tab=functions&fn=list&find=main", "#/execution/all?tab=iterations", "#/execution/all?tab=about&table=plan,activity,flame", "#/?x=1", `#/compare?a=${a}&b=${b}`, "#/fingerprint/9c1e"]) {
    const page = await open(browser, report.url + hash);
    await page.waitForTimeout(100);
    const bad = await page.evaluate(() => ({
      hacked: globalThis.hacked,
      images: document.querySelectorAll("img, iframe, object").length,
      handlers: [...document.querySelectorAll("*")].filter((each) => each.getAttributeNames().some((name) => name.startsWith("on"))).length,
      turned: /[\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText.replace(/.*tailor-bundle.*/s, "")),
    }));
    expect(bad.hacked === undefined && bad.images === 0 && bad.handlers === 0 && !bad.turned, `${hash}: ${JSON.stringify(bad)}`);
    expect(page.wrong.length === 0, `${hash}: ${page.wrong.join("; ")}`);
    await page.close();
  }
  report.remove();
});

test("the check above would see a page that takes names for markup", async () => {
  const page = await browser.newPage();
  await page.setContent(`<main>${hostile}</main>`);
  expect((await page.locator("img").count()) > 0, "the hostile name is harmless by itself");
  await page.close();
});

test("hostile addresses change nothing but what is chosen", async () => {
  const report = writeReport(makeBundle({ samples: 500, points: 100 }));
  for (const hash of ["#/execution/%3Cscript%3E", "#/execution/all?op=1e99&from=NaN&to=-Infinity&tid=x&line=99999999999&tab=__proto__", "#/execution/__proto__", "#/compare?a=__proto__&b=constructor", "#/execution/all?tab=functions&fn=__proto__&fun=__proto__&fzoom=constructor&find=%5B(&with=__proto__", "#/execution/all?zoom=/////&order=x&lanes=x&loop=-5", "#/execution/all?from=900&to=100"]) {
    const page = await open(browser, report.url + hash);
    expect(page.wrong.length === 0, `${hash}: ${page.wrong.join("; ")}`);
    await page.close();
  }
  report.remove();
});

const median = (all) => [...all].sort((x, y) => x - y)[Math.floor(all.length / 2)];

// What passing over as many numbers costs this browser at this moment.
const passes = (page) =>
  page.evaluate(() => {
    const values = Float64Array.from({ length: 1_000_000 }, (_, i) => (i * 7919) % 1000003);
    const begin = performance.now();
    let sum = 0;
    for (let pass = 0; pass < 10; pass++) for (let i = 0; i < values.length; i++) if (values[i] > pass) sum += values[i];
    return sum > 0 ? (performance.now() - begin) / 10 : 0;
  });

test("a million accesses and 200,000 samples are drawn, and can be brushed", async () => {
  const report = writeReport(makeBundle({ samples: 200000, points: 1000000, ids: ["all"] }));
  const few = writeReport(makeBundle({ samples: 10, points: 10, ids: ["all"] }));
  const page = await open(browser, `${report.url}#/execution/all?tab=memory`);
  const empty = await open(browser, `${few.url}#/execution/all?tab=memory`);
  await page.waitForSelector(".memorypanel canvas");
  await empty.waitForSelector("#card-memory");
  // Turn by turn, so that what else the machine does is the same for both. A step sums 200,000 samples for five views and
  // puts a million points into four pictures: so many passes over a million numbers, beside what an empty page takes.
  const [full, bare, pass] = [[], [], []];
  for (let round = 0; round < 6; round++) {
    for (const [from, into] of [[page, full], [empty, bare]]) {
      await from.bringToFront();
      into.push(...await brushSteps(from, 5));
    }
    pass.push(await passes(page));
  }
  const perPass = (median(full) - median(bare)) / median(pass);
  console.log(`info: ${median(full).toFixed(0)} ms a brushing step with a million points in four panels, ${median(bare).toFixed(0)} ms with ten; ${perPass.toFixed(0)} passes of ${median(pass).toFixed(1)} ms`);
  expect(perPass < mostPasses, `a step takes ${perPass.toFixed(0)} passes over a million numbers: at most ${mostPasses}`);
  await page.bringToFront();
  const drawn = await page.evaluate(() => {
    const canvas = document.querySelector(".memorypanel canvas");
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    let lit = 0;
    for (let i = 3; i < pixels.length; i += 4) if (pixels[i] > 100) lit++;
    return lit;
  });
  expect(drawn > 1000, `${drawn} pixels are lit`);
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  await empty.close();
  report.remove();
  few.remove();
});

test("a plan of 300 operators and one that is no tree are laid out", async () => {
  const bundle = makeBundle({ samples: 300, points: 10 });
  const plan = bundle.responses["executions/all/profile"].plans[0];
  const like = plan.operators[7];
  for (let id = 9; id <= 300; id++) {
    plan.operators.push({ ...like, id, inputs: [], name: `Scan ${id}` });
    plan.operators[id - 3].inputs.push(id);
  }
  plan.operators[299].inputs.push(1, 300, 12345);
  const report = writeReport(bundle);
  const page = await open(browser, report.url);
  await page.waitForSelector("#plan-node-300");
  expect(page.wrong.length === 0, page.wrong.join("; "));
  await page.close();
  report.remove();
});

const code = await finish();
await browser.close();
process.exit(code);
