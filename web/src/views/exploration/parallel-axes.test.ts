// Axes of parallel coordinates: where configurations cross them, and what a brush leaves.
import { expect, test } from 'vitest';
import type { Exploration, TriedConfiguration } from '../../model/interface';
import { brushed, isWithin, moved, parallelAxes } from './parallel-axes';

const row = (configuration: TriedConfiguration['configuration'], mean: number | null) =>
  ({
    configuration,
    metrics: mean === null ? {} : { time: { count: 1, mean, half_width: null } },
  }) as TriedConfiguration;
const rows = [
  row({ threads: 1, mode: 'a' }, 10),
  row({ threads: 8 }, 30),
  row({ threads: 2, mode: 'b' }, null),
];
const explored = {
  parameters: [
    { name: 'threads', values: [1, 2, 8], is_number: true, without: 0 },
    { name: 'mode', values: ['a', 'b'], is_number: false, without: 1 },
  ],
  results: {
    configurations: rows,
    objectives: [{ metric: 'time', unit: 's', goal: 'minimise', noise: null }],
  },
} as unknown as Exploration;
const [threads, mode, time] = parallelAxes(explored);

test('where configurations cross the axes', () => {
  expect(rows.map((one) => threads!.place(one))).toEqual([0, 1, 0.5]);
  expect(rows.map((one) => mode!.place(one))).toEqual([0, null, 1]);
  expect(rows.map((one) => time!.place(one))).toEqual([0, 1, null]);
  expect(threads!.marks.map(({ label }) => label)).toEqual(['1', '2', '8']);
  expect([time!.wordAt(0.5), threads!.wordAt(0.5)]).toEqual(['20', '2']);
});

test('what a brush leaves', () => {
  const low = brushed({}, threads!, { from: 0.5, to: 0 });
  expect(rows.map((one) => isWithin(one, low))).toEqual([true, false, true]);
  const both = brushed(low, time!, { from: 0, to: 0.9 });
  expect(rows.map((one) => isWithin(one, both))).toEqual([true, false, false]);
  expect(brushed(both, time!, { from: -1, to: 2 })).toEqual(low);
  expect(brushed(low, threads!, null)).toEqual({});
});

test('keys move an end, and not past the other', () => {
  expect(moved({ from: 0, to: 1 }, 'to', -0.5)).toEqual({ from: 0, to: 0.5 });
  expect(moved({ from: 0.5, to: 0.6 }, 'from', 0.5)).toEqual({ from: 0.6, to: 0.6 });
});
