// Axes of plain numbers.
import { expect, test } from 'vitest';
import { marksOf, pixelOf, scaleOf } from './plain-scale';

test('numbers and pixels', () => {
  const scale = scaleOf([10, 20], 100, 0, 0);
  expect([10, 15, 20].map((number) => pixelOf(scale, number))).toEqual([100, 50, 0]);
  const alone = scaleOf([5], 0, 100);
  expect(pixelOf(alone, 5)).toBeCloseTo(50);
  expect(scaleOf([], 0, 100)).toMatchObject({ least: 0, most: 1 });
});

test('marks', () => {
  expect(marksOf({ least: 0, most: 1, from: 0, to: 1 }, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(marksOf({ least: 0.05, most: 0.37, from: 0, to: 1 }, 4)).toEqual([0.1, 0.2, 0.3]);
  expect(marksOf({ least: -12, most: 9, from: 0, to: 1 }, 5)).toEqual([-10, -5, 0, 5]);
});
