// Numbers as people read them.
// Blanks within numbers are thin and do not break; these tests write them as plain ones.
import { expect, test } from 'vitest';
import {
  wordBytes,
  wordCount,
  wordDuration,
  wordLength,
  wordNumberOf,
  wordShare,
  wordTime,
  wordWallClock,
} from './wording';

const plain = (text: string) => text.replaceAll('\u202f', ' ');

test.each([
  [0, '0'],
  [7, '7 ns'],
  [999, '999 ns'],
  [1000, '1 µs'],
  [1234, '1.23 µs'],
  [12_345, '12.3 µs'],
  [999_600, '1 ms'],
  [123_456_789, '123 ms'],
  [1_500_000_000, '1.50 s'],
  [-2_500_000, '−2.50 ms'],
  [125_000_000_000, '2 min 5 s'],
  [5_880_000_000_000, '1 h 38 min'],
])('%d ns is %s', (nanoseconds, words) => {
  expect(plain(wordDuration(nanoseconds))).toBe(words);
});

test('times have as many digits as the resolution makes sense of', () => {
  expect(plain(wordTime(1_234_567_891, 1))).toBe('1.234 567 891 s');
  expect(plain(wordTime(1_234_567_891, 1000))).toBe('1.234 567 s');
  expect(plain(wordTime(1_234_567_891, 1e9))).toBe('1.234 s');
});

test('shares, bytes and counts', () => {
  expect([0, 0.0004, 0.034, 0.5, 1].map(wordShare)).toEqual(['0 %', '<0.1 %', '3.4 %', '50 %', '100 %']);
  expect([0, 1023, 1536, 734_003_200].map(wordBytes).map(plain)).toEqual([
    '0 B',
    '1023 B',
    '1.50 KiB',
    '700 MiB',
  ]);
  expect(plain(wordCount(1_234_567))).toBe('1 234 567');
  expect([wordNumberOf(1, 'request'), wordNumberOf(3, 'request')]).toEqual(['1 request', '3 requests']);
});

test('wall-clock time keeps its nanoseconds beyond doubles', () => {
  expect(wordWallClock('1783764000123456789', 999_000_000)).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:01\.122$/);
});

test('the length of what is shown in part is marked', () => {
  expect(plain(wordLength({ duration_ns: 7, shown: 'whole' }))).toBe('7 ns');
  expect(plain(wordLength({ duration_ns: 7, shown: 'no-end' }))).toBe('? 7 ns');
});
