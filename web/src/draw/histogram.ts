// Bars of a histogram with logarithmic edges, and the marks of its axis.
// Pure; parts/histogram.tsx draws it as SVG.

export interface HistogramBar {
  x: number;
  width: number;
  height: number;
  from: number;
  to: number;
  count: number;
}

export interface HistogramMark {
  x: number;
  value: number;
}

/** Heights grow with the root of the count: few slow requests among many fast ones must be seen. */
export function histogramBars(
  edges: readonly number[],
  counts: readonly number[],
  width: number,
  height: number,
): HistogramBar[] {
  const most = Math.max(1, ...counts);
  const position = logPosition(edges, width);
  const bars: HistogramBar[] = [];
  counts.forEach((count, index) => {
    const from = edges[index];
    const to = edges[index + 1];
    if (from === undefined || to === undefined || count <= 0) return;
    const x = position(from);
    bars.push({
      x,
      width: Math.max(1, position(to) - x - 1),
      height: Math.max(2, Math.sqrt(count / most) * height),
      from,
      to,
      count,
    });
  });
  return bars;
}

export function histogramMarks(edges: readonly number[], width: number): HistogramMark[] {
  const first = edges[0];
  const last = edges[edges.length - 1];
  if (first === undefined || last === undefined || last <= 0) return [];
  const position = logPosition(edges, width);
  const decades = Math.log10(last / Math.max(1, first));
  const factors = decades > 3.5 ? [1] : decades > 1.4 ? [1, 3] : [1, 2, 5];
  const marks: HistogramMark[] = [];
  for (let power = Math.floor(Math.log10(Math.max(1, first))); power <= Math.log10(last); power += 1) {
    for (const factor of factors) {
      const value = factor * 10 ** power;
      if (value >= first && value <= last) marks.push({ x: position(value), value });
    }
  }
  return marks;
}

export function logPosition(edges: readonly number[], width: number): (value: number) => number {
  const low = Math.log(Math.max(1, edges[0] ?? 1));
  const high = Math.log(Math.max(2, edges[edges.length - 1] ?? 2));
  const length = high - low || 1;
  return (value) => ((Math.log(Math.max(1, value)) - low) / length) * width;
}
