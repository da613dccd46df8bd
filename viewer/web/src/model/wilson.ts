// The 95 % interval of a share seen in n independent samples: Wilson's score interval, as in the daemon.
const z = 1.959963984540054;

export function wilson(share: number, n: number): [number, number] {
  if (!(n > 0)) return [0, 1];
  const square = z * z;
  const middle = (share + square / (2 * n)) / (1 + square / n);
  const half = (z / (1 + square / n)) * Math.sqrt((share * (1 - share)) / n + square / (4 * n * n));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}
