// From states over time to pixels. A row is brought to one form, a value and a share per pixel, whether it
// comes from the server's screen or from exact intervals; then it is painted. Pure: painting writes into an
// array that the caller owns. An interval shorter than a pixel is never lost: it shows by its share.
import { blend, type Colour } from './colours';
import { span, timeOfX, xOfTime, type TimeRange, type TimeScale } from './time-scale';

/** A stretch of one value. `value` is an index into the palette that paints it. */
export interface Run {
  begin: number;
  end: number;
  value: number;
}

/** What the server's /api/screen gives for one row. */
export interface ScreenRow {
  range: TimeRange;
  values: Uint32Array;
  shares: Uint8Array;
}

/** Per pixel of the picture: a value and how much of the pixel it fills (of 255; 0 = nothing). */
export interface PixelRow {
  values: Uint32Array;
  shares: Uint8Array;
}

export interface Ink {
  colour: Colour;
  /** Share of the row's height. */
  weight: number;
  /** Where a value fills a part of a pixel: lower instead of paler. A row then is a chart of how much. */
  rising?: boolean;
}

export function emptyPixelRow(width: number): PixelRow {
  return { values: new Uint32Array(width), shares: new Uint8Array(width) };
}

/** Shows a screen that may have been asked for another range or width: stretched until the right one comes. */
export function pixelsOfScreen(screen: ScreenRow, scale: TimeScale, into: PixelRow): void {
  const columns = screen.values.length;
  const perTime = columns / span(screen.range);
  // Where time is even, columns follow each other evenly too.
  const first = (scale.range.begin - screen.range.begin) * perTime;
  const perPixel = (span(scale.range) / scale.width) * perTime;
  for (let x = 0; x < scale.width; x += 1) {
    const position = scale.bends
      ? (timeOfX(scale, x + 0.5) - screen.range.begin) * perTime
      : first + (x + 0.5) * perPixel;
    const column = Math.floor(position);
    if (column < 0 || column >= columns) {
      into.shares[x] = 0;
      continue;
    }
    into.values[x] = screen.values[column]!;
    into.shares[x] = screen.shares[column]!;
  }
}

/** Runs must be in order of time and not overlap. Each pixel shows the value that fills most of it. */
export function pixelsOfRuns(runs: readonly Run[], scale: TimeScale, into: PixelRow): void {
  into.shares.fill(0);
  let crowdedPixel = -1;
  let crowd: Map<number, number> = new Map();
  const settle = () => {
    if (crowdedPixel < 0 || crowdedPixel >= scale.width) return;
    let best = 0;
    let bestValue = 0;
    let all = 0;
    for (const [value, covered] of crowd) {
      all += covered;
      if (covered > best) {
        best = covered;
        bestValue = value;
      }
    }
    if (all <= 0) return;
    into.values[crowdedPixel] = bestValue;
    into.shares[crowdedPixel] = Math.max(1, Math.min(255, Math.round(best * 255)));
  };
  const add = (pixel: number, value: number, covered: number) => {
    if (pixel !== crowdedPixel) {
      settle();
      crowdedPixel = pixel;
      crowd = new Map();
    }
    crowd.set(value, (crowd.get(value) ?? 0) + covered);
  };
  for (let index = firstRunAfter(runs, scale.range.begin); index < runs.length; index += 1) {
    const run = runs[index]!;
    if (run.begin >= scale.range.end) break;
    const from = Math.max(0, xOfTime(scale, run.begin));
    const to = Math.min(scale.width, xOfTime(scale, run.end));
    const firstPixel = Math.floor(from);
    const lastPixel = Math.min(scale.width - 1, Math.max(firstPixel, Math.ceil(to) - 1));
    if (firstPixel === lastPixel) {
      // At least a trace of ink, however short it is.
      add(firstPixel, run.value, Math.max(to - from, 0.004));
      continue;
    }
    add(firstPixel, run.value, firstPixel + 1 - from);
    for (let pixel = firstPixel + 1; pixel < lastPixel; pixel += 1) {
      into.values[pixel] = run.value;
      into.shares[pixel] = 255;
    }
    add(lastPixel, run.value, to - lastPixel);
  }
  settle();
}

/** Index of the first run that ends after a time (runs in order of time). */
export function firstRunAfter(runs: readonly { end: number }[], time: number): number {
  let low = 0;
  let high = runs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (runs[middle]!.end <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function runAt(runs: readonly Run[], time: number): Run | null {
  const run = runs[firstRunAfter(runs, time)];
  return run && run.begin <= time ? run : null;
}

/** What a screen shows at a time, and how much of the pixel that is. */
export function pixelAt(screen: ScreenRow, time: number): { value: number; share: number } | null {
  const column = Math.floor(((time - screen.range.begin) / span(screen.range)) * screen.values.length);
  const share = screen.shares[column];
  return share ? { value: screen.values[column]!, share: share / 255 } : null;
}

/** Stretches of equal value in a row of pixels: for labels, and for tests that read like text. */
export function stretchesOf(row: PixelRow): { from: number; to: number; value: number }[] {
  const found: { from: number; to: number; value: number }[] = [];
  for (let x = 0; x < row.values.length; x += 1) {
    if (row.shares[x] === 0) continue;
    const latest = found[found.length - 1];
    if (latest && latest.to === x && latest.value === row.values[x]) latest.to = x + 1;
    else found.push({ from: x, to: x + 1, value: row.values[x]! });
  }
  return found;
}

export interface PixelTarget {
  /** RGBA, one number per pixel, as ImageData has it on little-endian machines. */
  pixels: Uint32Array;
  width: number;
  height: number;
}

/** Paints a row between two heights of a target that is clear there; where nothing is known it stays so. */
export function paintRow(
  target: PixelTarget,
  top: number,
  height: number,
  row: PixelRow,
  inkOf: (value: number) => Ink,
  background: Colour,
): void {
  const { pixels, width } = target;
  const visibleTop = Math.max(0, Math.round(top));
  const visibleEnd = Math.min(target.height, Math.round(top + height));
  if (visibleTop >= visibleEnd) return;
  let latestValue = -1;
  let latestShare = -1;
  let packed = 0;
  let from = visibleEnd;
  let highest = visibleEnd;
  const begun = new Uint8Array(visibleEnd - visibleTop);
  for (let x = 0; x < width; x += 1) {
    const share = row.shares[x]!;
    if (share === 0) continue;
    const value = row.values[x]!;
    if (value !== latestValue || share !== latestShare) {
      latestValue = value;
      latestShare = share;
      const ink = inkOf(value);
      const filled = ink.rising ? share / 255 : 1;
      const inked = Math.max(ink.rising ? 1 : 2, Math.round(height * ink.weight * filled));
      from = ink.weight === 0 ? visibleEnd : Math.max(visibleTop, Math.round(top + height - inked));
      packed = packedPixel(blend(background, ink.colour, ink.rising ? 1 : visibleShare(share)));
    }
    if (from >= visibleEnd) continue;
    pixels[from * width + x] = packed;
    begun[from - visibleTop] = 1;
    highest = Math.min(highest, from);
  }
  // All states stand on one base line, so that changes of height read as steps: what begins in a line goes on
  // in those below it. Lines in which nothing begins, most of them, are copied whole: the fastest way to paint.
  for (let y = highest + 1; y < visibleEnd; y += 1) {
    const line = y * width;
    if (begun[y - visibleTop] === 0) {
      pixels.copyWithin(line, line - width, line);
      continue;
    }
    for (let pixel = line; pixel < line + width; pixel += 1) {
      if (pixels[pixel] === 0) pixels[pixel] = pixels[pixel - width]!;
    }
  }
}

/** A brief event must be seen: even the smallest share gets half of the ink. */
export function visibleShare(share: number): number {
  return share >= 250 ? 1 : 0.5 + (0.5 * share) / 255;
}

function packedPixel(colour: Colour): number {
  return ((0xff << 24) | ((colour & 0xff) << 16) | (colour & 0xff00) | (colour >> 16)) >>> 0;
}

export interface RunLabel {
  x: number;
  width: number;
  text: string;
}

/** The runs that are wide enough to carry a text, with where it goes. Neighbours of one text share it. */
export function labelsOfRuns<R extends Run>(
  runs: readonly R[],
  scale: TimeScale,
  textOf: (run: R) => string,
  smallest = 34,
): (RunLabel & { run: R })[] {
  const labels: (RunLabel & { run: R })[] = [];
  for (let index = firstRunAfter(runs, scale.range.begin); index < runs.length; index += 1) {
    const run = runs[index]!;
    if (run.begin >= scale.range.end) break;
    const from = Math.max(0, xOfTime(scale, run.begin));
    const to = Math.min(scale.width, xOfTime(scale, run.end));
    const latest = labels[labels.length - 1];
    if (latest && latest.run.value === run.value && from - (latest.x + latest.width) < 1) {
      if (textOf(run) === latest.text) {
        latest.width = to - latest.x;
        continue;
      }
    }
    if (to - from < smallest) continue;
    const text = textOf(run);
    if (text) labels.push({ x: from, width: to - from, text, run });
  }
  return labels;
}
