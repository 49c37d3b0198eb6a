// What is not told apart is said, and nothing where all is.
import { expect, test } from 'vitest';
import { wordLeftOut } from './left-out';

const ALL = { other_services: 0, other_operations: 0, most_calls: 256, deeper_spans: 0 };

test('nothing is said where everything is told apart', () => {
  expect(wordLeftOut(ALL)).toBe('');
});

test('what is not told apart is said', () => {
  expect(wordLeftOut({ ...ALL, other_services: 1, other_operations: 7541 })).toMatch(
    /^1 service, the rarest, shown as \(other\)\. 7.541 operations, the rarest, shown/,
  );
  expect(wordLeftOut({ ...ALL, most_calls: 3, deeper_spans: 640 })).toMatch(
    /more than 3 calls: 640 spans below count/,
  );
  expect(wordLeftOut({ ...ALL, most_calls: 1, deeper_spans: 1 })).toMatch(
    /more than 1 call: 1 span below counts/,
  );
});
