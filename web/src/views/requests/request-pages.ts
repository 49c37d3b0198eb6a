// The list of requests, fetched page by page as its rows come into sight, and their paths, fetched for the
// rows that are shown. The server sorts and filters; what was fetched for one order is forgotten with it.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { RowSpan } from '../../draw/row-layout';
import { span, type TimeRange } from '../../draw/time-scale';
import { askOnce, useAnswer } from '../../model/answers';
import { ask, withQuery, type Waiting } from '../../model/client';
import type { Path, Paths, Request, RequestPage } from '../../model/interface';

export type RequestQuery = Record<string, string | number | null>;

const SORTS = ['duration', 'begin', 'operation', 'service', 'host'];
const ORDERS = ['asc', 'desc'];

/** What an address asks for; what it cannot mean (a link by hand) is left out. */
export function requestQuery(
  filters: Readonly<Record<string, string>>,
  onlyWithin: TimeRange | null,
): RequestQuery {
  const oneOf = (known: string[], wanted: string | undefined) =>
    wanted !== undefined && known.includes(wanted) ? wanted : null;
  const whole = (text: string | undefined) => (/^\d{1,15}$/.test(text ?? '') ? Number(text) : null);
  const [, from, to] = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(filters.percentiles ?? '') ?? [];
  const between = from !== undefined && Number(from) < Number(to) && Number(to) <= 100;
  return {
    sort: oneOf(SORTS, filters.sort) ?? 'duration',
    order: oneOf(ORDERS, filters.order) ?? 'desc',
    service: filters.service ?? null,
    operation: filters.operation ?? null,
    text: filters.text ?? null,
    min_ns: whole(filters.min),
    max_ns: whole(filters.max),
    from_percentile: between ? Number(from) : null,
    to_percentile: between ? Number(to) : null,
    begin_ns: onlyWithin?.begin ?? null,
    end_ns: onlyWithin?.end ?? null,
  };
}

export interface RequestPages {
  total: number | null;
  requestAt: (index: number) => Request | null;
  load: (rows: RowSpan) => void;
  error: Error | null;
  waiting: Waiting | null;
  /** Grows when something was fetched. */
  version: number;
}

const PAGE = 100;

interface Fetched {
  key: string;
  total: number;
  pages: Map<number, Request[]>;
  asked: Set<number>;
}

/** While another order or filter is asked for, the list stays as it was. */
export function useRequestPages(query: RequestQuery): RequestPages {
  const address = useCallback(
    (page: number) => withQuery('/api/requests', { ...query, offset: page * PAGE, limit: PAGE }),
    [query],
  );
  const key = address(0);
  const first = useAnswer<RequestPage>({ path: key }, false);
  const fetched = useRef<Fetched | null>(null);
  const [version, setVersion] = useState(0);
  if (first.value && fetched.current?.key !== key) {
    fetched.current = {
      key,
      total: first.value.total,
      pages: new Map([[0, first.value.requests]]),
      asked: new Set([0]),
    };
  }
  const shown = fetched.current;
  const load = useCallback(
    (rows: RowSpan) => {
      if (!shown || shown.key !== address(0)) return;
      for (let page = Math.floor(rows.first / PAGE); page * PAGE < rows.end; page += 1) {
        if (shown.asked.has(page)) continue;
        shown.asked.add(page);
        askOnce<RequestPage>({ path: address(page) }).then(
          (told) => {
            shown.pages.set(page, told.requests);
            setVersion((old) => old + 1);
          },
          () => shown.asked.delete(page),
        );
      }
    },
    [address, shown],
  );
  const requestAt = useCallback(
    (index: number) => shown?.pages.get(Math.floor(index / PAGE))?.[index % PAGE] ?? null,
    [shown],
  );
  return {
    total: shown?.total ?? null,
    requestAt,
    load,
    error: first.error,
    waiting: first.waiting,
    version,
  };
}

/** Segments of all paths that are kept: what bounds the memory that they take. */
const KEPT_SEGMENTS = 400_000;
const AT_ONCE = 100;
const paths = new Map<number, { path: Path; level: number }>();
const asked = new Set<string>();
let keptSegments = 0;

function keepPath(id: number, path: Path, level: number): void {
  keptSegments += path.segments.length - (paths.get(id)?.path.segments.length ?? 0);
  paths.delete(id);
  paths.set(id, { path, level });
  for (const [oldest, { path: dropped }] of paths) {
    if (keptSegments <= KEPT_SEGMENTS || oldest === id) break;
    paths.delete(oldest);
    keptSegments -= dropped.segments.length;
  }
}

/** How much detail a picture of this range can show: segments shorter than 4^level ns may be put together. */
export function detailLevel(range: TimeRange): number {
  const level = Math.floor(Math.log(span(range) / 4000) / Math.log(4));
  return level < 5 ? 0 : level;
}

/**
 * Paths of requests, as detailed as the range needs; asks for those that are not there yet once scrolling
 * and zooming pause. What is there already is given until then.
 */
export function usePaths(
  ids: readonly number[],
  range: TimeRange,
): { pathOf: (id: number) => Path | null; version: number } {
  const [version, setVersion] = useState(0);
  const level = detailLevel(range);
  const key = `${level} ${ids.join(' ')}`;
  useEffect(() => {
    const missing = ids.filter(
      (id) => (paths.get(id)?.level ?? Infinity) > level && !asked.has(`${level} ${id}`),
    );
    if (missing.length === 0) return;
    let gone = false;
    const timer = window.setTimeout(async () => {
      for (let from = 0; from < missing.length && !gone; from += AT_ONCE) {
        const part = missing.slice(from, from + AT_ONCE);
        part.forEach((id) => asked.add(`${level} ${id}`));
        try {
          const body = { requests: part, least_ns: level === 0 ? 0 : 4 ** level };
          const told = (await ask({ path: '/api/paths', body })) as Paths;
          for (const { id, path } of told.paths) keepPath(id, path, level);
        } catch {
          // The rows stay without pictures; coming back to them asks again.
        }
        part.forEach((id) => asked.delete(`${level} ${id}`));
        setVersion((old) => old + 1);
      }
    }, 60);
    return () => {
      gone = true;
      window.clearTimeout(timer);
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [key]);
  const pathOf = useCallback((id: number) => paths.get(id)?.path ?? null, []);
  return useMemo(() => ({ pathOf, version }), [pathOf, version]);
}
