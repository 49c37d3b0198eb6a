// Where the user is: the view, the time range, the selected time, request and thread, and the view's own
// filters. It lives in the address (after #), so a link restores it and the back button works. Pure
// functions here; the store that React listens to is place-store.ts.
import type { TimeRange } from '../draw/time-scale';

export const VIEWS = [
  'overview',
  'requests',
  'threads',
  'services',
  'store',
  'events',
  'analyses',
  'transfers',
  'exploration',
] as const;
export type ViewName = (typeof VIEWS)[number];

export interface Place {
  view: ViewName;
  /** null: all of the recording. */
  range: TimeRange | null;
  /** The selected time. */
  at: number | null;
  request: number | null;
  /** The selected thread's row number. */
  thread: number | null;
  filters: Readonly<Record<string, string>>;
}

export const FIRST_PLACE: Place = {
  view: 'overview',
  range: null,
  at: null,
  request: null,
  thread: null,
  filters: {},
};

const OWN_NAMES = new Set(['range', 'at', 'request', 'thread']);

export function parsePlace(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?', 2);
  const view = VIEWS.find((name) => name === path) ?? 'overview';
  const values = new URLSearchParams(query);
  const filters: Record<string, string> = {};
  for (const [name, value] of values) {
    if (!OWN_NAMES.has(name) && value !== '') filters[name] = value;
  }
  return {
    view,
    range: parseRange(values.get('range')),
    at: parseWhole(values.get('at')),
    request: parseWhole(values.get('request')),
    thread: parseWhole(values.get('thread')),
    filters,
  };
}

export function formatPlace(place: Place): string {
  const query: string[] = [];
  if (place.range) query.push(`range=${formatRange(place.range)}`);
  if (place.at !== null) query.push(`at=${Math.round(place.at)}`);
  if (place.request !== null) query.push(`request=${place.request}`);
  if (place.thread !== null) query.push(`thread=${place.thread}`);
  for (const name of Object.keys(place.filters).sort()) {
    const value = place.filters[name];
    if (value) query.push(`${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  }
  return `#/${place.view}${query.length ? `?${query.join('&')}` : ''}`;
}

/** A change of place. Another view starts with its own filters, not with those of the view before. */
export type PlaceChange = Partial<Omit<Place, 'filters'>> & {
  filters?: Record<string, string | null>;
};

/** What points into the selected request: it does not outlive the selection. */
const FILTERS_OF_REQUEST = ['focus', 'mark'];

export function changePlace(place: Place, change: PlaceChange): Place {
  const { filters: changedFilters, ...rest } = change;
  const otherView = change.view !== undefined && change.view !== place.view;
  const filters: Record<string, string> = otherView ? {} : { ...place.filters };
  if (change.request !== undefined && change.request !== place.request) {
    for (const name of FILTERS_OF_REQUEST) delete filters[name];
  }
  for (const [name, value] of Object.entries(changedFilters ?? {})) {
    if (value === null || value === '') delete filters[name];
    else filters[name] = value;
  }
  return { ...place, ...rest, filters };
}

export function formatRange(range: TimeRange): string {
  return `${Math.round(range.begin)}-${Math.round(range.end)}`;
}

export function parseRange(text: string | null): TimeRange | null {
  const match = /^(\d{1,16})-(\d{1,16})$/.exec(text ?? '');
  if (!match) return null;
  const range = { begin: Number(match[1]), end: Number(match[2]) };
  return range.end > range.begin ? range : null;
}

function parseWhole(text: string | null): number | null {
  return text !== null && /^\d{1,16}$/.test(text) ? Number(text) : null;
}
