// The way of commands between the rows in sight, asked for when zooming and scrolling pause, once there are few enough
// to follow: from connections to the threads that read them, on to those that execute and write, and back.
import { useEffect, useMemo, useState } from 'react';
import { arrowsBetweenRows } from '../../draw/arrows';
import type { TimeRange } from '../../draw/time-scale';
import { ask } from '../../model/client';
import type { StoreArrows } from '../../model/interface';
import type { GraphArrows } from '../../parts/time-graph/graph-types';
import type { StoreLine } from './store-rows';

const PAUSE = 160;
const MOST_ARROWS = 500;
const NO_ARROWS: StoreArrows = { arrows: [], complete: true };

/** `rows`: numbers of rows in sight. */
export function useStoreArrows(
  lines: readonly StoreLine[],
  rows: readonly number[],
  range: TimeRange,
  wanted: boolean,
): GraphArrows | null {
  const [told, setTold] = useState<StoreArrows>(NO_ARROWS);
  const rowKey = rows.join(' ');
  useEffect(() => {
    if (!wanted || rows.length === 0) {
      setTold(NO_ARROWS);
      return;
    }
    const abort = new AbortController();
    const timer = window.setTimeout(async () => {
      try {
        const body = { rows, begin_ns: range.begin, end_ns: range.end, limit: MOST_ARROWS };
        setTold((await ask({ path: '/api/store/arrows', body }, abort.signal)) as StoreArrows);
      } catch {
        if (!abort.signal.aborted) setTold(NO_ARROWS);
      }
    }, PAUSE);
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [rowKey, range.begin, range.end, wanted]);
  return useMemo(() => (wanted ? arrowsOfStore(told, lines) : null), [wanted, told, lines]);
}

/** Between lines, of those that both ends are shown of. */
export function arrowsOfStore(told: StoreArrows, lines: readonly StoreLine[]): GraphArrows {
  const lineOf = new Map<string, number>();
  lines.forEach(({ shown }, index) => {
    if (shown) lineOf.set(String(shown.row), index);
  });
  const ends = (arrow: StoreArrows['arrows'][number]) => ({
    from: String(arrow.from_row),
    fromTime: arrow.from_ns,
    to: String(arrow.to_row),
    toTime: arrow.to_ns,
  });
  return { arrows: arrowsBetweenRows(told.arrows, ends, lineOf), incomplete: !told.complete };
}
