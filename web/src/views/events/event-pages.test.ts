// A stretch of events that grows at either end: nothing twice, nothing lost, and the ends are known.
import { expect, test } from 'vitest';
import type { EventLine, EventPage } from '../../model/interface';
import { indexOfTime, stretchOf, withEarlier, withLater, type EventStretch } from './event-pages';

const event = (at: number, text = ''): EventLine => ({
  at_ns: at,
  host: 0,
  host_name: 'h',
  stream: 's',
  cpu: 0,
  name: 'e',
  tid: 1,
  text,
});
const page = (events: EventLine[], rest: Partial<EventPage> = {}): EventPage => ({
  events,
  has_earlier: true,
  has_later: true,
  searched_from_ns: null,
  searched_to_ns: null,
  ...rest,
});
const stretch: EventStretch = stretchOf(page([event(10), event(20, 'a'), event(20, 'b')]), 10);
const times = (events: readonly EventLine[]) => events.map((one) => `${one.at_ns}${one.text}`).join(' ');

test('later events are added once', () => {
  const grown = withLater(stretch, page([event(20, 'a'), event(20, 'b'), event(30)], { has_later: false }));
  expect(times(grown.events)).toBe('10 20a 20b 30');
  expect(grown).toMatchObject({ hasEarlier: true, hasLater: false });
});

test('earlier events too', () => {
  const grown = withEarlier(stretch, page([event(5), event(10)], { has_earlier: false }));
  expect(times(grown.events)).toBe('5 10 20a 20b');
  expect(grown.hasEarlier).toBe(false);
});

test('a page without anything new is an end', () => {
  expect(withLater(stretch, page([event(20, 'b')])).hasLater).toBe(false);
});

test('a search goes on where the last part of it ended, then the other way', () => {
  const first = stretchOf(page([], { searched_from_ns: 40, searched_to_ns: 90 }), 60);
  expect(first).toMatchObject({ from: 40, to: 90, goesOn: 'later' });
  const later = withLater(first, page([], { searched_to_ns: 140 }));
  expect(later).toMatchObject({ from: 40, to: 140, goesOn: 'later' });
  const end = withLater(later, page([], { has_later: false }));
  expect(end).toMatchObject({ from: 40, goesOn: 'earlier' });
  const none = withEarlier(end, page([], { has_earlier: false }));
  expect(none).toMatchObject({ events: [], goesOn: null, hasLater: false, hasEarlier: false });
  const found = withEarlier(end, page([event(7)], { searched_from_ns: 2 }));
  expect(found).toMatchObject({ from: 2, hasEarlier: true, goesOn: null });
});

test('with events found, a search goes on only where it was asked to', () => {
  const grown = withLater(stretch, page([], { searched_to_ns: 500 }));
  expect(grown).toMatchObject({ to: 500, hasLater: true, goesOn: 'later' });
  expect(withLater(grown, page([event(600)], { searched_to_ns: 700 }))).toMatchObject({
    to: 700,
    goesOn: null,
  });
});

test('the first event at or after a time', () => {
  expect([0, 10, 11, 20, 21].map((time) => indexOfTime(stretch.events, time))).toEqual([0, 0, 1, 1, 3]);
});
