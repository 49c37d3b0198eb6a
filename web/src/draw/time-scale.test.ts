// Zoom and pan, as pictures of ranges: what stays in place, and what the edges do.
import { describe, expect, test } from 'vitest';
import { fitInto, pan, showTime, timeOfX, withMargin, xOfTime, zoom } from './time-scale';

const bounds = { begin: 0, end: 1_000_000 };

describe('zoom', () => {
  test('keeps the time under the pointer where it is', () => {
    const before = { begin: 200_000, end: 600_000 };
    const after = zoom(before, 0.5, 300_000, bounds);
    const scale = (range: typeof before) => ({ range, width: 800 });
    expect(xOfTime(scale(after), 300_000)).toBeCloseTo(xOfTime(scale(before), 300_000), 0);
    expect(after.end - after.begin).toBe(200_000);
  });
  test('does not leave the recording', () => {
    expect(zoom({ begin: 0, end: 400_000 }, 10, 100_000, bounds)).toEqual(bounds);
  });
  test('stops at the shortest range', () => {
    const close = zoom({ begin: 500_000, end: 500_300 }, 0.01, 500_100, bounds);
    expect(close.end - close.begin).toBe(200);
  });
});

test('pan stops at the edges without changing the length', () => {
  expect(pan({ begin: 100_000, end: 300_000 }, -1, bounds)).toEqual({ begin: 0, end: 200_000 });
  expect(pan({ begin: 700_000, end: 900_000 }, 5, bounds)).toEqual({ begin: 800_000, end: 1_000_000 });
});

test('a range fits into a recording that is shorter than the shortest range', () => {
  expect(fitInto({ begin: 0, end: 5000 }, { begin: 0, end: 50 })).toEqual({ begin: 0, end: 50 });
});

test('a margin is air on both sides, where there is room', () => {
  expect(withMargin({ begin: 1000, end: 11_000 }, 0.1, bounds)).toEqual({ begin: 0, end: 12_000 });
});

test('a time out of sight is brought to the middle', () => {
  expect(showTime({ begin: 0, end: 100_000 }, 500_000, bounds)).toEqual({ begin: 450_000, end: 550_000 });
  expect(showTime({ begin: 0, end: 100_000 }, 5, bounds)).toEqual({ begin: 0, end: 100_000 });
});

test('pixels and times are inverse', () => {
  const scale = { range: { begin: 1000, end: 3000 }, width: 500 };
  expect(timeOfX(scale, xOfTime(scale, 1234))).toBeCloseTo(1234);
});
