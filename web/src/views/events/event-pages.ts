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
}

const MOST = 3000;
const AT_ONCE = 300;

/** Adds later events behind a stretch; what both have (the boundary's time) is not repeated. */
export function withLater(stretch: EventStretch, page: EventPage): EventStretch {
  const fresh = withoutKnown(page.events, stretch.events);
  const events = [...stretch.events, ...fresh];
  const dropped = Math.max(0, events.length - MOST);
  return {
    events: events.slice(dropped),
    hasEarlier: stretch.hasEarlier || dropped > 0,
    hasLater: page.has_later && fresh.length > 0,
  };
}

export function withEarlier(stretch: EventStretch, page: EventPage): EventStretch {
  const fresh = withoutKnown(page.events, stretch.events);
  const events = [...fresh, ...stretch.events];
  return {
    events: events.slice(0, MOST),
    hasEarlier: page.has_earlier && fresh.length > 0,
    hasLater: stretch.hasLater || events.length > MOST,
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
            setStretch({
              events: page.events,
              hasEarlier: page.has_earlier,
              hasLater: page.has_later,
            });
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
      if (!present || busy.current || present.events.length === 0) return;
      if (later ? !present.hasLater : !present.hasEarlier) return;
      busy.current = true;
      const edge = later ? present.events[present.events.length - 1]!.at_ns : present.events[0]!.at_ns;
      const path = later ? address(edge, 0, AT_ONCE, name, text) : address(edge, AT_ONCE, 0, name, text);
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
