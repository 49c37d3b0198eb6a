// An axis of plain numbers: from a number to a pixel, and where the marks are (steps of 1, 2 or 5 times a power of ten).
// For times there is time-scale.ts.

export interface PlainScale {
  least: number;
  most: number;
  /** Pixels of `least` and `most`. */
  from: number;
  to: number;
}

/** An axis that has these numbers on it, with a little room on both sides. */
export function scaleOf(numbers: readonly number[], from: number, to: number, room = 0.06): PlainScale {
  const known = numbers.filter(Number.isFinite);
  let least = Infinity;
  let most = -Infinity;
  for (const number of known) {
    least = Math.min(least, number);
    most = Math.max(most, number);
  }
  if (known.length === 0) return { least: 0, most: 1, from, to };
  const length = most - least || Math.abs(most) || 1;
  return { least: least - room * length, most: most + room * length, from, to };
}

export function pixelOf({ least, most, from, to }: PlainScale, number: number): number {
  return from + ((number - least) / (most - least)) * (to - from);
}

export function marksOf({ least, most }: PlainScale, wanted: number): number[] {
  const rough = (most - least) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.9999) ?? rough;
  const marks: number[] = [];
  for (let number = Math.ceil(least / step); number * step <= most && marks.length < 100; number += 1) {
    // 3 * 0.1 is not 0.3.
    marks.push(Number((number * step).toPrecision(12)));
  }
  return marks;
}
