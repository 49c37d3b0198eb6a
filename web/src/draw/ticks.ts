// Where a time axis has its marks and what they say. Steps are 1, 2 or 5 times a power of ten. Where
// seconds would need too many digits, marks tell the distance from a base that the axis names once.
import { openStretches } from './folds';
import { span, xOfTime, type TimeScale } from './time-scale';
import { wordTime } from '../model/wording';

/** How wide a letter of a label is at most, and how far from its mark the label begins, in pixels. */
const LETTER = 6;
const MARGIN = 4;

export interface Tick {
  time: number;
  x: number;
  /** Empty where it has no room before the axis ends. */
  label: string;
}

export interface Ticks {
  /** null: labels are times since the begin; else they are distances from here. */
  base: number | null;
  baseLabel: string;
  marks: Tick[];
}

export function tickStep(range: number, wanted: number): number {
  const rough = Math.max(1, range / Math.max(1, wanted));
  const power = 10 ** Math.floor(Math.log10(rough));
  for (const factor of [1, 2, 5, 10]) {
    if (factor * power >= rough * 0.9999) return Math.max(1, factor * power);
  }
  return 10 * power;
}

export function ticksOf(scale: TimeScale, pixelsApart = 110): Ticks {
  const { begin, end } = scale.range;
  const open = openStretches(scale);
  const shown = open.reduce((sum, stretch) => sum + span(stretch), 0);
  const step = tickStep(shown, scale.width / pixelsApart);
  const relative = begin >= step * 1000;
  const base = relative ? Math.floor(begin / (step * 100)) * step * 100 : null;
  const largest = Math.max(step, end - (base ?? 0));
  const marks: Tick[] = [];
  for (const stretch of open) {
    const first = Math.ceil(stretch.begin / step);
    const last = Math.floor((stretch.end - 1e-6) / step);
    for (let number = first; number <= last && marks.length < 400; number += 1) {
      const time = number * step;
      const x = xOfTime(scale, time);
      // On both sides of a fold two may come close.
      const before = marks[marks.length - 1];
      if (before && x - before.x < pixelsApart * 0.6) continue;
      const words = `${base === null ? '' : '+'}${tickLabel(time - (base ?? 0), step, largest)}`;
      const fits = x + MARGIN + words.length * LETTER <= scale.width;
      marks.push({ time, x, label: fits ? words : '' });
    }
  }
  return { base, baseLabel: base === null ? '' : wordTime(base, step * 100), marks };
}

/** All labels of an axis share a unit, that of the largest, and have as many decimals as the step needs. */
function tickLabel(time: number, step: number, largest: number): string {
  if (time === 0) return '0';
  const [factor, unit] =
    largest >= 1e9
      ? ([1e9, 's'] as const)
      : largest >= 1e6
        ? ([1e6, 'ms'] as const)
        : largest >= 1e3
          ? ([1e3, 'µs'] as const)
          : ([1, 'ns'] as const);
  const decimals = Math.max(0, Math.round(Math.log10(factor) - Math.floor(Math.log10(step) + 1e-9)));
  return `${(time / factor).toFixed(decimals)}\u202f${unit}`;
}
