// Tick labels at the zooms that people use: units fit the step, and digits tell neighbours apart.
import { expect, test } from 'vitest';
import { tickStep, ticksOf } from './ticks';

const labels = (begin: number, end: number, width = 660) =>
  ticksOf({ range: { begin, end }, width }).marks.map((tick) => tick.label.replace('\u202f', ' '));

test('steps are 1, 2 or 5 times a power of ten', () => {
  expect([1000, 1500, 3000, 7000].map((range) => tickStep(range, 1))).toEqual([1000, 2000, 5000, 10_000]);
});

test('seconds', () => {
  expect(labels(0, 3e9)).toEqual(['0', '0.5 s', '1.0 s', '1.5 s', '2.0 s', '2.5 s']);
});

test('milliseconds near the begin', () => {
  expect(labels(0, 30e6)).toEqual(['0', '5 ms', '10 ms', '15 ms', '20 ms', '25 ms']);
});

test('far from the begin, marks tell the distance from a base', () => {
  const ticks = ticksOf({ range: { begin: 2_000_000_300, end: 2_000_003_000 }, width: 660 });
  expect(ticks.base).toBe(2_000_000_000);
  expect(ticks.baseLabel).toBe('2.000\u202f00\u202fs');
  expect(ticks.marks[0]?.label).toBe('+0.5\u202fµs');
});

test('no two neighbours have the same label, at any zoom', () => {
  for (let length = 200; length < 1e12; length *= 3) {
    for (const begin of [0, 123_456_789, 98_765_432_101]) {
      const found = labels(begin, begin + length);
      expect(new Set(found).size, `${length} ns from ${begin}: ${found.join(' ')}`).toBe(found.length);
    }
  }
});

test('a label that has no room before the end of the axis is left out', () => {
  expect(labels(0, 3.05e9).slice(-2)).toEqual(['2 s', '']);
});
