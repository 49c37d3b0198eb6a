// Folding empty time: where times lie then, and that nothing but their place changes.
import { describe, expect, test } from 'vitest';
import { bendsOf, foldsOf, magnification, openStretches } from './folds';
import { emptyPixelRow, pixelsOfRuns, pixelsOfScreen, stretchesOf } from './pixel-rows';
import { ticksOf } from './ticks';
import { timeOfX, xOfTime } from './time-scale';

const range = { begin: 1000, end: 2000 };
const quiet = [
  { begin: 1100, end: 1500 },
  { begin: 1510, end: 1515 },
  { begin: 1600, end: 2500 },
];
const bends = bendsOf(quiet, range);
const scale = { range, width: 1000, bends };

describe('folding', () => {
  test('the rest has the room of what is folded; short stretches stay', () => {
    expect(foldsOf(scale).map(({ begin, end, width }) => [begin, end, Math.round(width)])).toEqual([
      [1100, 1500, 12],
      [1600, 2000, 12],
    ]);
    expect(openStretches(scale)).toEqual([
      { begin: 1000, end: 1100 },
      { begin: 1500, end: 1600 },
    ]);
    expect(xOfTime(scale, 1100)).toBeCloseTo(488);
    expect(xOfTime(scale, 1550)).toBeCloseTo(744);
    expect(magnification(range, bends)).toBeCloseTo(4.88);
  });
  test('every place has one time, and the other way round', () => {
    for (const time of [900, 1000, 1050, 1100, 1300, 1500, 1555, 1600, 1999, 2000]) {
      expect(timeOfX(scale, xOfTime(scale, time))).toBeCloseTo(time);
    }
    let before = -Infinity;
    for (let time = 1000; time <= 2000; time += 7) {
      expect(xOfTime(scale, time)).toBeGreaterThan(before);
      before = xOfTime(scale, time);
    }
  });
  test('nothing is folded where nothing is quiet, or all is', () => {
    expect(bendsOf([], range)).toBeNull();
    expect(bendsOf([{ begin: 0, end: 9000 }], range)).toBeNull();
    expect(bendsOf([{ begin: 1100, end: 1124 }], range)).toBeNull();
    expect(magnification(range, null)).toBe(1);
    expect(openStretches({ range, width: 9 })).toEqual([range]);
  });
});

describe('what is drawn on a folded line', () => {
  test('exact runs and screens lie at the same places', () => {
    const run = { begin: 1050, end: 1550, value: 3 };
    const exact = emptyPixelRow(1000);
    pixelsOfRuns([run], scale, exact);
    expect(stretchesOf(exact)).toEqual([{ from: 244, to: 744, value: 3 }]);
    const columns = 1000;
    const screen = { range, values: new Uint32Array(columns), shares: new Uint8Array(columns) };
    screen.values.fill(3, 50, 550);
    screen.shares.fill(255, 50, 550);
    const shown = emptyPixelRow(1000);
    pixelsOfScreen(screen, scale, shown);
    expect(stretchesOf(shown)).toEqual([{ from: 244, to: 744, value: 3 }]);
  });
  test('an axis has its marks in the open stretches only, apart from each other', () => {
    const marks = ticksOf(scale).marks;
    expect(marks.length).toBeGreaterThan(3);
    for (const { time } of marks) {
      expect(openStretches(scale).some(({ begin, end }) => time >= begin && time <= end)).toBe(true);
    }
    marks.slice(1).forEach((mark, index) => expect(mark.x - marks[index]!.x).toBeGreaterThan(40));
  });
});
