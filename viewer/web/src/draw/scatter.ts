// Many points in a picture: they are binned into pixels, so that a million costs no more than the pixels there are.
// A pixel has the colour of the owner with most points in it; how many there are is how strong it is.
import { parse } from "./colors.ts";

export interface Points {
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  color: ArrayLike<number>; // index into the colours; below 0: the last colour
}

export interface Window {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

// `rows`: which points. Returns the picture, and how many points lie in it. Points are `size` pixels wide.
export function scatter(points: Points, rows: ArrayLike<number>, window: Window, width: number, height: number, colors: string[], size: number): { image: ImageData; drawn: number } {
  const count = new Uint16Array(width * height);
  const owner = new Int16Array(width * height);
  const lead = new Uint16Array(width * height); // by how much the owner leads
  const scaleX = (width - size) / (window.x1 - window.x0 || 1);
  const scaleY = (height - size) / (window.y1 - window.y0 || 1);
  let drawn = 0;
  for (let i = 0; i < rows.length; i++) {
    const at = rows[i]!;
    const x = Math.floor((points.x[at]! - window.x0) * scaleX);
    const y = Math.floor((window.y1 - points.y[at]!) * scaleY);
    if (!(x >= 0 && y >= 0 && x + size <= width && y + size <= height)) continue;
    drawn++;
    const color = points.color[at]! < 0 ? colors.length - 1 : points.color[at]!;
    for (let dy = 0; dy < size; dy++) {
      for (let dx = 0; dx < size; dx++) {
        const cell = (y + dy) * width + x + dx;
        if (count[cell]! < 65535) count[cell]!++;
        // The one that has the majority, if one has, ends up as the owner (Boyer and Moore).
        if (lead[cell] === 0) {
          owner[cell] = color;
          lead[cell] = 1;
        } else if (owner[cell] === color) lead[cell]!++;
        else lead[cell]!--;
      }
    }
  }
  const image = new ImageData(width, height);
  const rgb = colors.map(parse);
  for (let cell = 0; cell < count.length; cell++) {
    const n = count[cell]!;
    if (n === 0) continue;
    const [r, g, b] = rgb[owner[cell]!] ?? [128, 128, 128];
    image.data[cell * 4] = r;
    image.data[cell * 4 + 1] = g;
    image.data[cell * 4 + 2] = b;
    image.data[cell * 4 + 3] = Math.min(255, 120 + 45 * n);
  }
  return { image, drawn };
}
