// A canvas that is drawn again when its size, the theme or what it shows changes; once a frame at most.
import { useEffect, useRef } from "preact/hooks";
import type { CanvasHTMLAttributes } from "preact";

export interface Pen {
  g: CanvasRenderingContext2D;
  width: number;
  height: number;
  ratio: number; // device pixels of a CSS pixel
}

type Props = Omit<CanvasHTMLAttributes<HTMLCanvasElement>, "draw"> & {
  draw: (pen: Pen) => void;
  height: number;
  label: string;
};

export function Canvas({ draw, height, label, ...rest }: Props) {
  const ref = useRef<HTMLCanvasElement>(null);
  // A frame that was asked for earlier draws what is to be shown by then, at its height.
  const latest = useRef({ draw, height });
  latest.current = { draw, height };
  const request = useRef(0);

  const schedule = () => {
    if (request.current !== 0) return;
    request.current = requestAnimationFrame(() => {
      request.current = 0;
      const canvas = ref.current;
      if (!canvas) return;
      const { draw, height } = latest.current;
      const ratio = Math.min(3, window.devicePixelRatio || 1);
      const width = canvas.clientWidth;
      const pixels = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))] as const;
      if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
      const g = canvas.getContext("2d");
      if (!g || width === 0) return;
      g.setTransform(ratio, 0, 0, ratio, 0, 0);
      g.clearRect(0, 0, width, height);
      g.font = '11px system-ui, "DejaVu Sans", sans-serif';
      g.textBaseline = "middle";
      draw({ g, width, height, ratio });
    });
  };
  useEffect(() => {
    const observer = new ResizeObserver(schedule);
    observer.observe(ref.current!);
    // Another screen has other pixels at the same size.
    let pixels: MediaQueryList;
    const watch = () => {
      pixels = matchMedia(`(resolution: ${window.devicePixelRatio || 1}dppx)`);
      pixels.addEventListener("change", changed, { once: true });
    };
    const changed = () => {
      schedule();
      watch();
    };
    watch();
    return () => {
      observer.disconnect();
      pixels.removeEventListener("change", changed);
      cancelAnimationFrame(request.current);
      request.current = 0;
    };
  }, []);
  useEffect(schedule, [draw, height]);
  return <canvas ref={ref} role="img" aria-label={label} style={{ height: `${height}px`, width: "100%", display: "block" }} {...rest} />;
}

// Cuts a text so that it fits; "" where not even its first letters do.
export function fit(g: CanvasRenderingContext2D, text: string, width: number): string {
  if (width < 14) return "";
  if (g.measureText(text).width <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (g.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low < 2 ? "" : `${text.slice(0, low)}…`;
}

// Slanted lines: what is unattributed or off the CPU does not look like work.
export function hatch(g: CanvasRenderingContext2D, color: string, background: string): CanvasPattern | string {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const t = tile.getContext("2d");
  if (!t) return color;
  t.fillStyle = background;
  t.fillRect(0, 0, 6, 6);
  t.strokeStyle = color;
  t.lineWidth = 1.6;
  t.beginPath();
  for (const at of [-6, 0, 6]) {
    t.moveTo(at, 6);
    t.lineTo(at + 6, 0);
  }
  t.stroke();
  return g.createPattern(tile, "repeat") ?? color;
}
