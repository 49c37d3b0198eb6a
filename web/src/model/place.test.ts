// Links restore the view: what is formatted is parsed back, and what is not understood is left out.
import { expect, test } from 'vitest';
import { FIRST_PLACE, changePlace, formatPlace, parsePlace, type Place } from './place';

test('a link restores the place', () => {
  const place: Place = {
    view: 'threads',
    range: { begin: 1_200_000_000, end: 2_800_000_000 },
    at: 1_300_000_001,
    request: 17,
    thread: 0,
    filters: { text: 'java & co=?', colour: 'requests' },
  };
  expect(parsePlace(formatPlace(place))).toEqual(place);
});

test('nothing, nonsense and hostile text lead to the overview', () => {
  expect(parsePlace('')).toEqual(FIRST_PLACE);
  expect(parsePlace('#/nowhere?range=9-1&at=-5&request=x')).toEqual(FIRST_PLACE);
  expect(parsePlace('#/events?range=1e9-2e9&at=0x10')).toMatchObject({
    view: 'events',
    range: null,
    at: null,
  });
});

test('another view begins with its own filters and keeps range and selection', () => {
  const place = parsePlace('#/requests?text=slow&range=100-900&request=3');
  expect(changePlace(place, { view: 'threads', filters: { tid: '7' } })).toMatchObject({
    range: { begin: 100, end: 900 },
    request: 3,
    filters: { tid: '7' },
  });
});

test('filters are changed one by one, and null removes one', () => {
  const place = parsePlace('#/requests?text=slow&align=clock');
  expect(changePlace(place, { filters: { text: null, sort: 'begin' } }).filters).toEqual({
    align: 'clock',
    sort: 'begin',
  });
});

test('what points into a request goes with it', () => {
  const place = parsePlace('#/requests?request=3&at=150&text=slow&focus=100-200&mark=150-180');
  for (const request of [4, null]) {
    expect(changePlace(place, { request, filters: { text: null } }).filters).toEqual({});
  }
  expect(changePlace(place, { request: 3 }).filters).toEqual(place.filters);
  expect(changePlace(place, { request: 4, filters: { mark: '1-2' } }).filters).toEqual({
    text: 'slow',
    mark: '1-2',
  });
});
