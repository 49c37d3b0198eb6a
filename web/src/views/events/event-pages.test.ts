// A stretch of events that grows at either end: nothing twice, nothing lost, and the ends are known.
import { expect, test } from 'vitest';
import type { EventLine } from '../../model/interface';
import { indexOfTime, withEarlier, withLater } from './event-pages';

const event = (at: number, text = ''): EventLine => ({
  at_ns: at,
  host: 0,
  stream: 0,
  cpu: 0,
  name: 'e',
  tid: 1,
  text,
});
const stretch = { events: [event(10), event(20, 'a'), event(20, 'b')], hasEarlier: true, hasLater: true };
const times = (events: readonly EventLine[]) => events.map((one) => `${one.at_ns}${one.text}`).join(' ');

test('later events are added once', () => {
  const page = { events: [event(20, 'a'), event(20, 'b'), event(30)], has_earlier: true, has_later: false };
  const grown = withLater(stretch, page);
  expect(times(grown.events)).toBe('10 20a 20b 30');
  expect(grown).toMatchObject({ hasEarlier: true, hasLater: false });
});

test('earlier events too', () => {
  const page = { events: [event(5), event(10)], has_earlier: false, has_later: true };
  const grown = withEarlier(stretch, page);
  expect(times(grown.events)).toBe('5 10 20a 20b');
  expect(grown.hasEarlier).toBe(false);
});

test('a page without anything new is an end', () => {
  expect(withLater(stretch, { events: [event(20, 'b')], has_earlier: true, has_later: true }).hasLater).toBe(
    false,
  );
});

test('the first event at or after a time', () => {
  expect([0, 10, 11, 20, 21].map((time) => indexOfTime(stretch.events, time))).toEqual([0, 0, 1, 1, 3]);
});
