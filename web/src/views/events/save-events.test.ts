// Saving events: every event of the time once, whatever the pages, and no more than asked for.
import { describe, expect, it } from 'vitest';
import type { EventLine, EventPage } from '../../model/interface';
import { eventsOf } from './save-events';

const made = Array.from({ length: 3500 }, (_, index): EventLine => {
  // Two at a time, so that pages end between events of one time.
  const at_ns = Math.floor(index / 2) * 10;
  return { at_ns, host: 0, host_name: 'a', stream: 's', cpu: 0, name: `e${index}`, tid: null, text: '' };
});

async function page(path: string): Promise<EventPage> {
  const query = new URLSearchParams(path.split('?')[1]);
  const from = made.findIndex((event) => event.at_ns >= Number(query.get('at_ns')));
  const events = from < 0 ? [] : made.slice(from, from + 999);
  return {
    events,
    has_earlier: from > 0,
    has_later: from >= 0 && from + 999 < made.length,
    searched_from_ns: null,
    searched_to_ns: null,
  };
}

const filters = { name: '', text: '' };

describe('eventsOf', () => {
  it('gives every event of the time once', async () => {
    const { events, complete } = await eventsOf({ begin: 0, end: 15_000 }, filters, 1e6, page, () => {});
    expect(complete).toBe(true);
    expect(events.map((event) => event.name)).toEqual(made.slice(0, 3002).map((event) => event.name));
  });

  it('says where it left some out', async () => {
    const { events, complete } = await eventsOf({ begin: 0, end: 1e9 }, filters, 2500, page, () => {});
    expect(complete).toBe(false);
    expect(events).toHaveLength(2500);
  });
});
