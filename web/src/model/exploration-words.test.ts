// What an exploration found is said as the command says it.
import { expect, test } from 'vitest';
import type { TriedConfiguration } from './interface';
import {
  sentenceOfDrift,
  sentenceOfStanding,
  sentencesOfMethod,
  wordAgainst,
  wordBrief,
  wordMean,
  wordNoMean,
  wordNumber,
  wordShort,
  wordStanding,
  wordTrials,
} from './exploration-words';

test('numbers are those of the command', () => {
  // As crates/cli/src/explore_tables.rs has them.
  const numbers = [0, 1, 12_345.678, 0.012_346_7, 1234.5, 99.999, 1e-9, -2.5];
  expect(numbers.map(wordNumber)).toEqual([
    '0',
    '1.000',
    '12346',
    '0.01235',
    '1234',
    '100.00',
    '1.000e-9',
    '-2.500',
  ]);
});

test('short numbers', () => {
  const numbers = [0, 1, 8123, 12_345, 999_700, 0.0123, 1.5e13, -250];
  expect(numbers.map(wordShort)).toEqual(['0', '1', '8.12k', '12.3k', '1M', '0.0123', '1.5e13', '-250']);
});

test('means and differences', () => {
  expect(wordMean({ mean: 8123.4, half_width: 120.25 })).toBe('8123 ± 120.2');
  expect(wordMean({ mean: 1, half_width: null })).toBe('1.000');
  expect(wordAgainst({ estimate: -2, low: -3, high: -1 }, 100)).toBe('−3.0 to −1.0 %');
  expect(wordAgainst({ estimate: 2, low: -1, high: 5 }, -100)).toBe('−1.0 to +5.0 %');
  expect(wordAgainst(null, 100)).toBe('');
  // Of a best of 0 nothing is a share.
  expect(wordAgainst({ estimate: 2, low: -1, high: 5 }, 0)).toBe('-1.000 to +5.000');
});

test('how many trials have a result', () => {
  expect(wordTrials({ outcomes: { good: 2, stopped: 1 } })).toBe('3');
  expect(wordTrials({ outcomes: { good: 2, 'timed-out': 1 } })).toBe('2 of 3');
});

test('of the best it is told that some of its trials failed', () => {
  const best = (outcomes: Record<string, number>): TriedConfiguration => ({
    rank: 1,
    configuration: {},
    outcomes,
    metrics: {},
    standing: 'best',
    difference: null,
    is_on_front: true,
  });
  expect(wordStanding(best({ good: 3 }))).toBe('best');
  expect(wordStanding(best({ good: 2, workload: 1 }))).toBe('best, workload 1×');
  expect(sentenceOfStanding(best({ good: 3 }), 0.95)).toBe('It has the best mean of the first objective.');
  expect(sentenceOfStanding(best({ good: 2, workload: 1 }), 0.95)).toMatch(
    /objective\. Some of its trials failed: workload 1×\.$/,
  );
});

test('what no parameter explains is told', () => {
  expect(sentencesOfMethod({ method: 'additive', not_explained: 0.77 })).toMatch(
    / Not explained is what noise/,
  );
  expect(sentencesOfMethod({ method: 'additive', not_explained: null })).not.toMatch(/Not explained/);
});

test('what was stopped has not failed', () => {
  expect(wordNoMean(2)).toBe('2 trials failed');
  expect(wordNoMean(0)).toBe('stopped early');
});

test('drift is claimed with its interval only', () => {
  const drift = (low: number, high: number) =>
    sentenceOfDrift('throughput', { estimate: (low + high) / 2, low, high }, 0.95);
  expect(drift(-0.02, 0.01)).toMatch(/^No drift of throughput is told: −2.0 to \+1.0 %/);
  expect(drift(0.01, 0.03)).toMatch(/^throughput drifts/);
});

test('of long words the begin and the end are kept', () => {
  expect(wordBrief('everysec', 8)).toBe('everysec');
  expect(wordBrief('-XX:+UseG1GC -XX:G1NewSizePercent=40', 24)).toBe('-XX:+UseG1GC -XX…cent=40');
});
