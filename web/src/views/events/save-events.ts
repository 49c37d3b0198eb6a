// The events of the shown time as CSV, with the filters of the list: asked for in large pages, as many as a
// spreadsheet opens. The command line has no such limit.
import { ask, withQuery } from '../../model/client';
import type { EventLine, EventPage } from '../../model/interface';
import type { TimeRange } from '../../draw/time-scale';
import { csvOf, type ValueColumn } from '../../parts/data-table/table-rows';
import { saveText } from '../../parts/save-file';
import { keyOfEvent } from './event-pages';

export const MOST_SAVED = 100_000;
const PAGE = 1000;

const COLUMNS: ValueColumn<EventLine>[] = [
  { key: 'at', title: 'at_ns', value: (event) => event.at_ns },
  { key: 'host', title: 'host', value: (event) => event.host_name },
  { key: 'cpu', title: 'cpu', value: (event) => event.cpu },
  { key: 'tid', title: 'tid', value: (event) => event.tid },
  { key: 'name', title: 'name', value: (event) => event.name },
  { key: 'text', title: 'fields', value: (event) => event.text },
];

type AskPage = (path: string) => Promise<EventPage>;

/** All events of a time that fit, in order; more than `most` are left out, and then `complete` is false. */
export async function eventsOf(
  range: TimeRange,
  filters: { name: string; text: string },
  most: number,
  askPage: AskPage,
  onProgress: (count: number) => void,
): Promise<{ events: EventLine[]; complete: boolean }> {
  const events: EventLine[] = [];
  let time = Math.round(range.begin);
  let before = new Set<string>();
  for (;;) {
    const path = withQuery('/api/events', { at_ns: time, before: 0, after: PAGE, ...filters });
    const page = await askPage(path);
    // A page begins with the time that the one before ended with.
    const fresh = page.events.filter((event) => !before.has(keyOfEvent(event)));
    events.push(...fresh.filter((event) => event.at_ns <= range.end));
    if (events.length > most) return { events: events.slice(0, most), complete: false };
    onProgress(events.length);
    const reached = page.searched_to_ns ?? page.events[page.events.length - 1]?.at_ns ?? range.end;
    const goesOn = fresh.length > 0 || reached > time;
    if (!page.has_later || reached > range.end || !goesOn) return { events, complete: true };
    time = reached;
    before = new Set(page.events.map(keyOfEvent));
  }
}

/** Gives the user the file, whose name says where it is cut off. */
export async function saveEvents(
  range: TimeRange,
  filters: { name: string; text: string },
  onProgress: (count: number) => void,
): Promise<void> {
  const askPage: AskPage = async (path) => (await ask({ path })) as EventPage;
  const { events, complete } = await eventsOf(range, filters, MOST_SAVED, askPage, onProgress);
  const name = complete ? 'events.csv' : `events-first-${MOST_SAVED}.csv`;
  saveText(name, 'text/csv', csvOf(events, COLUMNS));
}
