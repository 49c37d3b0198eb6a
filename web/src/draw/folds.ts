// Folding: stretches of a time line in which nothing happens become narrow marks, and the rest has their room.
// Pure. Times stay what they are; only where they lie changes (time-scale.ts), so that links, the selected time
// and tooltips need not know.
import { span, xOfTime, type Bends, type TimeRange, type TimeScale } from './time-scale';

/** Shorter stretches, as shares of what is shown, are not worth a mark. */
const LEAST = 0.025;
/** What a folded stretch takes of the width; there are at most 1 / LEAST of them. */
const FOLDED = 0.012;

/** `quiet`: in order, apart from each other; null where there is nothing to fold, or nothing else. */
export function bendsOf(quiet: readonly TimeRange[], range: TimeRange): Bends | null {
  const folded = quiet
    .map(({ begin, end }) => ({ begin: Math.max(begin, range.begin), end: Math.min(end, range.end) }))
    .filter((stretch) => span(stretch) >= span(range) * LEAST);
  const open = span(range) - folded.reduce((sum, stretch) => sum + span(stretch), 0);
  if (folded.length === 0 || open <= 0) return null;
  const perTime = (1 - folded.length * FOLDED) / open;
  const times = [range.begin];
  const shares = [0];
  const go = (time: number, share: number) => {
    times.push(time);
    shares.push(shares[shares.length - 1]! + share);
  };
  for (const { begin, end } of folded) {
    go(begin, (begin - times[times.length - 1]!) * perTime);
    go(end, FOLDED);
  }
  go(range.end, (range.end - times[times.length - 1]!) * perTime);
  return { times, shares };
}

/** The folded stretches of a scale. */
export function foldsOf(scale: TimeScale): (TimeRange & { x: number; width: number })[] {
  return stretchesOf(scale, 1).map(({ begin, end }) => {
    const x = xOfTime(scale, begin);
    return { begin, end, x, width: xOfTime(scale, end) - x };
  });
}

/** The others; all of the range where nothing is folded. */
export function openStretches(scale: TimeScale): TimeRange[] {
  return scale.bends ? stretchesOf(scale, 0) : [scale.range];
}

/** How many times wider the open stretches are than they would be without folding. */
export function magnification(range: TimeRange, bends: Bends | null): number {
  if (!bends) return 1;
  const scale = { range, width: 1, bends };
  const [widest] = openStretches(scale).sort((one, other) => span(other) - span(one));
  return ((xOfTime(scale, widest!.end) - xOfTime(scale, widest!.begin)) * span(range)) / span(widest!);
}

/** Open and folded stretches take turns, beginning and ending with an open one (which may be empty). */
function stretchesOf({ bends }: TimeScale, first: 0 | 1): TimeRange[] {
  const found: TimeRange[] = [];
  for (let index = first; bends && index + 1 < bends.times.length; index += 2) {
    const stretch = { begin: bends.times[index]!, end: bends.times[index + 1]! };
    if (span(stretch) > 0) found.push(stretch);
  }
  return found;
}
