// What of a picture of the page stays the same with other fonts: where its main boxes are, and how much of it has each of
// the page's colours.
import { palette, shadeColor } from "../../viewer/web/src/draw/colors.ts";

const near = 10; // of 255, in each of red, green and blue
const hex = (color) => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));

function colorsOf(theme) {
  const { background, panel, component, accent } = palette(theme);
  return { background, panel, component, accent, ...Object.fromEntries([0, 1, 2, 3, 4, 5, 6, 7].map((index) => [`hue ${index}`, shadeColor(index, theme)])) };
}

// `png`: of the page as it stands. Shares are of the picture, boxes in pixels of it.
export async function measure(page, png, theme) {
  const boxes = await page.evaluate(() => {
    const out = {};
    for (const element of document.querySelectorAll("header.top, main .trust, main section, main .dumbbells, main .lanes .chart, main .lanes .labels")) {
      const { x, y, width, height } = element.getBoundingClientRect();
      const name = element.closest("[id^=card-]") === element ? element.id : `${element.closest("section")?.getAttribute("aria-label") ?? ""} ${element.tagName.toLowerCase()}.${element.className}`.trim();
      out[name] = [x, y + scrollY, width, height].map(Math.round);
    }
    return out;
  });
  const wanted = Object.entries(colorsOf(theme)).map(([name, color]) => [name, ...hex(color)]);
  // Its own page decodes the picture: the one that is measured has a policy.
  const decoder = await page.context().browser().newPage();
  const colors = await decoder.evaluate(async ([data, list, most]) => {
    const image = await createImageBitmap(await (await fetch(data)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    const g = canvas.getContext("2d");
    g.drawImage(image, 0, 0);
    const { data: pixels } = g.getImageData(0, 0, image.width, image.height);
    const counts = list.map(() => 0);
    for (let i = 0; i < pixels.length; i += 4) {
      const at = list.findIndex(([, r, gr, b]) => Math.abs(pixels[i] - r) <= most && Math.abs(pixels[i + 1] - gr) <= most && Math.abs(pixels[i + 2] - b) <= most);
      if (at >= 0) counts[at]++;
    }
    return Object.fromEntries(list.map(([name], index) => [name, Number((counts[index] / (pixels.length / 4)).toFixed(5))]));
  }, [`data:image/png;base64,${png.toString("base64")}`, wanted, near]);
  await decoder.close();
  return { boxes, colors };
}

// Where two pictures differ by more than other fonts explain. Text is a few pixels higher or wider with these, and boxes
// below move by the sum of that.
export function differences(now, stored) {
  const out = [];
  for (const name of new Set([...Object.keys(now.boxes), ...Object.keys(stored.boxes)])) {
    const [a, b] = [now.boxes[name], stored.boxes[name]];
    if (!a || !b) {
      out.push(`${name}: ${a ? "is new" : "is gone"}`);
      continue;
    }
    const slack = [30, 20 + 0.12 * b[1], 20 + 0.06 * b[2], 16 + 0.15 * b[3]];
    ["left", "top", "width", "height"].forEach((edge, i) => {
      if (Math.abs(a[i] - b[i]) > slack[i]) out.push(`${name}: ${edge} ${a[i]}, and ${b[i]} before`);
    });
  }
  for (const [name, share] of Object.entries(stored.colors)) {
    const is = now.colors[name] ?? 0;
    if (Math.abs(is - share) > 0.0015 + 0.25 * share) out.push(`${name}: ${(is * 100).toFixed(2)} % of the picture, and ${(share * 100).toFixed(2)} % before`);
  }
  return out;
}
