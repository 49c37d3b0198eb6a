// Words for transfers: what is left out, what use was made of a field, on what a row rests.
import { expect, test } from 'vitest';
import type { Transfer, TransferredField } from '../../model/interface';
import {
  shortClass,
  useOf,
  wordObjects,
  wordRead,
  wordUse,
  wordsLeftOut,
  wordsOfServices,
} from './transfer-words';

const NOTHING = {
  responses_without_context: 0,
  responses_without_objects: 0,
  responses_not_looked_into: 0,
  failures: 0,
  classes_not_rewritten: 0,
  reads_unseen: 0,
  too_many: 0,
  registers_busy: 0,
};

test('only what was left out is told', () => {
  expect(wordsLeftOut(NOTHING)).toEqual([]);
  expect(wordsLeftOut({ ...NOTHING, registers_busy: 1234, failures: 2 })).toEqual([
    '2 responses could not be looked into',
    '1\u202f234 objects were not watched: no debug register was free, or aiming-share was used up',
  ]);
});

test('rows on no path are told by why', () => {
  const rows_without = { no_process: 0, no_call: 2, ambiguous: 1, not_told: 0 };
  const told = wordsOfServices({ requests: 410, latency: 9, paths: 40, rows_on_paths: 8, rows_without });
  expect(told).toEqual([
    '8 on a path of services, by rank, of 410 requests',
    '2 on no path: no call that spans tell of goes to the endpoint',
    expect.stringMatching(/^1 on no path: several paths/),
  ]);
});

const field = (used: number, printed: number, unused: number): TransferredField => {
  const all = used + printed + unused;
  return {
    name: 'price',
    type: 'double',
    used,
    printed,
    unused,
    censored_used: 0,
    utilisation: all === 0 ? null : { share: used / all, low: 0.1, high: 0.4 },
    printed_share: all === 0 ? null : printed / all,
    effective_samples: all,
    bytes: 12,
    use: 'sometimes',
  };
};

test('use is told in shares of objects', () => {
  expect(useOf(field(0, 0, 0))).toBe(null);
  const unlike = {
    ...field(1, 1, 2),
    utilisation: { share: 0.125, low: 0.01, high: 0.3 },
    printed_share: 0.25,
  };
  expect(useOf(unlike)).toEqual({ used: 0.125, printed: 0.25, unused: 0.625, low: 0.01, high: 0.3 });
  const use = useOf(field(1, 1, 2))!;
  expect([use.used, use.printed, use.unused]).toEqual([0.25, 0.25, 0.5]);
  expect(wordUse(use)).toBe('used 25 % (10 % to 40 %), only printed 25 %, unused 50 %');
  expect(wordUse(useOf(field(4, 0, 0))!)).toBe('used 100 % (10 % to 40 %)');
});

test('a field that was read in censored objects alone says in how many', () => {
  expect(wordRead(field(1, 0, 1))).toBe('sometimes');
  expect(wordRead({ ...field(0, 0, 383), use: 'censored', censored_used: 1340 })).toBe(
    'in 1\u202f340 censored',
  );
});

test('objects that are not decided are told where there are any', () => {
  const row = { decided: 385, censored: 0, lost: 0, too_large: 0 } as Transfer;
  expect(wordObjects(row)).toBe('385 decided');
  expect(wordObjects({ ...row, censored: 3, lost: 2, too_large: 1 })).toBe(
    '385 decided; 3 censored: they outlived their requests, were copied, or may have been read unseen; ' +
      '2 lost: their reads could not be followed; 1 response had too many objects or classes to see them all: how many there are is estimated',
  );
});

test('a class is named without its package', () => {
  expect([shortClass('shop.order.Ticket'), shortClass('int')]).toEqual(['Ticket', 'int']);
});
