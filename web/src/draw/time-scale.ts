// Time ranges and their mapping to pixels. Times are nanoseconds since the recording's begin; ranges are
// half open. Pure arithmetic: what zoom and pan mean is said here once, for mouse and keyboard alike.

export interface TimeRange {
  begin: number;
  end: number;
}

export interface TimeScale {
  range: TimeRange;
  width: number;
  /** Where stretches of the range are folded (folds.ts); null or absent: time is even. */
  bends?: Bends | null;
}

/** A range whose time is not even: from each of these times to the next it is, and takes these shares of the width. */
export interface Bends {
  times: readonly number[];
  shares: readonly number[];
}

/** The closest that one can look, in ns across the picture. */
export const SHORTEST_RANGE = 200;

export function span(range: TimeRange): number {
  return range.end - range.begin;
}

export function xOfTime(scale: TimeScale, time: number): number {
  if (scale.bends) return bent(scale.bends.times, scale.bends.shares, time) * scale.width;
  return ((time - scale.range.begin) / span(scale.range)) * scale.width;
}

export function timeOfX(scale: TimeScale, x: number): number {
  if (scale.bends) return bent(scale.bends.shares, scale.bends.times, x / scale.width);
  return scale.range.begin + (x / scale.width) * span(scale.range);
}

/** Straight from point to point; before the first and behind the last as beside them. */
function bent(from: readonly number[], to: readonly number[], value: number): number {
  let low = 0;
  let high = from.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (from[middle]! <= value) low = middle;
    else high = middle - 1;
  }
  const length = from[low + 1]! - from[low]! || 1;
  return to[low]! + ((value - from[low]!) / length) * (to[low + 1]! - to[low]!);
}

/** Moves and, if it must, shrinks a range until it lies within bounds. Whole nanoseconds. */
export function fitInto(range: TimeRange, bounds: TimeRange): TimeRange {
  const longest = span(bounds);
  const length = Math.min(Math.max(span(range), Math.min(SHORTEST_RANGE, longest)), longest);
  const begin = Math.min(Math.max(range.begin, bounds.begin), bounds.end - length);
  return { begin: Math.round(begin), end: Math.round(begin + length) };
}

/** factor < 1 zooms in. The time under `anchor` stays where it is, as long as the bounds allow. */
export function zoom(range: TimeRange, factor: number, anchor: number, bounds: TimeRange): TimeRange {
  const length = Math.min(Math.max(span(range) * factor, SHORTEST_RANGE), span(bounds));
  const position = span(range) > 0 ? (anchor - range.begin) / span(range) : 0.5;
  const begin = anchor - position * length;
  return fitInto({ begin, end: begin + length }, bounds);
}

/** Moves by a share of what is shown; positive is later. */
export function pan(range: TimeRange, share: number, bounds: TimeRange): TimeRange {
  const shift = span(range) * share;
  return fitInto({ begin: range.begin + shift, end: range.end + shift }, bounds);
}

/** A range with some air around it. */
export function withMargin(range: TimeRange, share: number, bounds: TimeRange): TimeRange {
  const air = Math.max(span(range) * share, SHORTEST_RANGE / 2);
  return fitInto({ begin: range.begin - air, end: range.end + air }, bounds);
}

export function contains(range: TimeRange, time: number): boolean {
  return time >= range.begin && time < range.end;
}

export function sameRange(one: TimeRange, other: TimeRange): boolean {
  return one.begin === other.begin && one.end === other.end;
}

/** Moves a range by the least that brings a time into it, with a little air. */
export function showTime(range: TimeRange, time: number, bounds: TimeRange): TimeRange {
  if (contains(range, time)) return range;
  const middle = time - span(range) / 2;
  return fitInto({ begin: middle, end: middle + span(range) }, bounds);
}
