// A stretch of a list of events that has no end in sight: begins around a time, grows at either end as one
// scrolls there, and forgets what is far away. Pure but for the hook at the end.
import { useCallback, useEffect, useRef, useState } from 'react';
import { askOnce } from '../../model/answers';
import { withQuery } from '../../model/client';
import type { EventLine, EventPage } from '../../model/interface';

export interface EventStretch {
  events: readonly EventLine[];
  hasEarlier: boolean;
  hasLater: boolean;
  /** The time that was looked through; where to go on at either end. */
  from: number;
  to: number;
  /** Which way a search that found nothing new goes on by itself. */
  goesOn: 'later' | 'earlier' | null;
}

const MOST = 3000;
const AT_ONCE = 300;

export function stretchOf(page: EventPage, time: number): EventStretch {
  const { events, has_earlier, has_later } = page;
  return {
    events,
    hasEarlier: has_earlier,
    hasLater: has_later,
    from: page.searched_from_ns ?? events[0]?.at_ns ?? time,
    to: page.searched_to_ns ?? events[events.length - 1]?.at_ns ?? time,
    goesOn: events.length > 0 ? null : has_later ? 'later' : has_earlier ? 'earlier' : null,
  };
}

/** Adds later events behind a stretch; what both have (the boundary's time) is not repeated. */
export function withLater(stretch: EventStretch, page: EventPage): EventStretch {
  const fresh = withoutKnown(page.events, stretch.events);
  const events = [...stretch.events, ...fresh];
  const dropped = Math.max(0, events.length - MOST);
  const kept = events.slice(dropped);
  const hasLater = page.has_later && (fresh.length > 0 || page.searched_to_ns !== null);
  const onlyEarlier = kept.length === 0 && stretch.hasEarlier;
  return {
    events: kept,
    hasEarlier: stretch.hasEarlier || dropped > 0,
    hasLater,
    from: dropped > 0 ? kept[0]!.at_ns : stretch.from,
    to: page.searched_to_ns ?? kept[kept.length - 1]?.at_ns ?? stretch.to,
    goesOn: fresh.length > 0 ? null : hasLater ? 'later' : onlyEarlier ? 'earlier' : null,
  };
}

export function withEarlier(stretch: EventStretch, page: EventPage): EventStretch {
  const fresh = withoutKnown(page.events, stretch.events);
  const events = [...fresh, ...stretch.events];
  const kept = events.slice(0, MOST);
  const hasEarlier = page.has_earlier && (fresh.length > 0 || page.searched_from_ns !== null);
  return {
    events: kept,
    hasEarlier,
    hasLater: stretch.hasLater || events.length > MOST,
    from: page.searched_from_ns ?? kept[0]?.at_ns ?? stretch.from,
    to: events.length > MOST ? kept[kept.length - 1]!.at_ns : stretch.to,
    goesOn: fresh.length === 0 && hasEarlier ? 'earlier' : null,
  };
}

export function keyOfEvent(event: EventLine): string {
  return `${event.at_ns} ${event.host} ${event.stream} ${event.name} ${event.text}`;
}

function withoutKnown(events: readonly EventLine[], known: readonly EventLine[]): EventLine[] {
  const keys = new Set(known.map(keyOfEvent));
  return events.filter((event) => !keys.has(keyOfEvent(event)));
}

/** Index of the first event at or after a time; the number of events if there is none. */
export function indexOfTime(events: readonly EventLine[], time: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events[middle]!.at_ns < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface Events {
  stretch: EventStretch | null;
  error: Error | null;
  loading: boolean;
  loadLater: () => void;
  loadEarlier: () => void;
}

/** Events around a time. Another time that lies in the stretch keeps it. */
export function useEvents(time: number, name: string, text: string): Events {
  const [stretch, setStretch] = useState<EventStretch | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [loading, setLoading] = useState(false);
  const latest = useRef<EventStretch | null>(null);
  const filter = useRef('');
  const busy = useRef(false);
  latest.current = stretch;

  useEffect(() => {
    const present = latest.current;
    const key = `${name}\n${text}`;
    if (present && filter.current === key && covers(present, time)) return;
    let gone = false;
    setLoading(true);
    const timer = window.setTimeout(() => {
      askOnce<EventPage>({ path: address(time, AT_ONCE / 2, AT_ONCE, name, text) })
        .then(
          (page) => {
            if (gone) return;
            filter.current = key;
            setError(null);
            setStretch(stretchOf(page, time));
          },
          (failure: unknown) => {
            if (!gone) setError(failure as Error);
          },
        )
        .finally(() => {
          if (!gone) setLoading(false);
        });
    }, 80);
    return () => {
      gone = true;
      window.clearTimeout(timer);
    };
  }, [time, name, text]);

  const grow = useCallback(
    (later: boolean) => {
      const present = latest.current;
      if (!present || busy.current) return;
      if (later ? !present.hasLater : !present.hasEarlier) return;
      busy.current = true;
      const path = later
        ? address(present.to, 0, AT_ONCE, name, text)
        : // Events of the boundary's own time may have been left out.
          address(present.from + 1, AT_ONCE, 0, name, text);
      askOnce<EventPage>({ path })
        .then((page) => {
          if (latest.current !== present) return;
          setStretch(later ? withLater(present, page) : withEarlier(present, page));
        }, setError)
        .finally(() => {
          busy.current = false;
        });
    },
    [name, text],
  );
  const loadLater = useCallback(() => grow(true), [grow]);
  const loadEarlier = useCallback(() => grow(false), [grow]);

  useEffect(() => {
    const next = filter.current === `${name}\n${text}` ? stretch?.goesOn : null;
    if (!next) return;
    const timer = window.setTimeout(() => grow(next === 'later'), 0);
    return () => window.clearTimeout(timer);
  }, [stretch, grow, name, text]);
  return { stretch, error, loading, loadLater, loadEarlier };
}

function covers(stretch: EventStretch, time: number): boolean {
  const first = stretch.events[0];
  const last = stretch.events[stretch.events.length - 1];
  if (!first || !last) return false;
  return (time >= first.at_ns || !stretch.hasEarlier) && (time <= last.at_ns || !stretch.hasLater);
}

function address(time: number, before: number, after: number, name: string, text: string): string {
  return withQuery('/api/events', { at_ns: Math.round(time), before, after, name, text });
}
