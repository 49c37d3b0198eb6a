// What an address asks the list of requests for.
import { describe, expect, it } from 'vitest';
import { requestQuery } from './request-pages';

describe('requestQuery', () => {
  it('takes what an address says', () => {
    const filters = { sort: 'begin', order: 'asc', percentiles: '99.9-100', min: '5', operation: 'GET /' };
    expect(requestQuery(filters, { begin: 1, end: 2 })).toMatchObject({
      sort: 'begin',
      order: 'asc',
      from_percentile: 99.9,
      to_percentile: 100,
      min_ns: 5,
      max_ns: null,
      operation: 'GET /',
      begin_ns: 1,
      end_ns: 2,
    });
  });

  it('leaves out what it cannot mean', () => {
    const wrong = { sort: 'zzz', order: 'up', percentiles: '90-10', min: '-1', max: 'x' };
    expect(requestQuery(wrong, null)).toEqual(requestQuery({}, null));
    expect(requestQuery({ percentiles: '0-101' }, null)).toEqual(requestQuery({}, null));
  });
});
