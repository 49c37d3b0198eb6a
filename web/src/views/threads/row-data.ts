// What the rows in sight show, asked for when zooming and scrolling pause: a screen of states at the
// picture's resolution at once, exact intervals and wake-ups once there are few enough. What was there
// before stays (stretched) until the new answer comes, so that zooming never blanks the picture.
import { useEffect, useMemo, useRef, useState } from 'react';
import type { Run, ScreenRow } from '../../draw/pixel-rows';
import { fitInto, span, type TimeRange } from '../../draw/time-scale';
import { ask } from '../../model/client';
import type { Intervals, WakeUps } from '../../model/interface';

export type RowKind = 'threads' | 'cpus' | 'requests' | 'store' | 'store-commands';

export interface RowPictures {
  screens: ReadonlyMap<number, ScreenRow>;
  /** Exact, where these answer the present range. */
  runs: ReadonlyMap<number, readonly Run[]>;
  /** What the exact runs cover. */
  runsRange: TimeRange | null;
  error: Error | null;
  waiting: boolean;
}

const PAUSE = 35;
const EXACT_PAUSE = 160;
const MOST_INTERVALS = 6000;
const MOST_PIXELS = 6000;
/** Asked for beyond either edge, so that a little panning needs no answer. */
const SPARE = 0.25;

export function useRowPictures(
  of: RowKind,
  rows: readonly number[],
  range: TimeRange,
  bounds: TimeRange,
  pixels: number,
): RowPictures {
  const screens = useRef<{ of: RowKind; rows: Map<number, ScreenRow> }>({ of, rows: new Map() });
  const [version, setVersion] = useState(0);
  const [exact, setExact] = useState<{ of: RowKind; range: TimeRange; runs: Map<number, Run[]> } | null>(
    null,
  );
  const [error, setError] = useState<Error | null>(null);
  const [waiting, setWaiting] = useState(false);
  const rowKey = rows.join(' ');
  if (screens.current.of !== of) screens.current = { of, rows: new Map() };

  useEffect(() => {
    if (rows.length === 0 || pixels < 2) return;
    const abort = new AbortController();
    const wide = fitInto(
      { begin: range.begin - span(range) * SPARE, end: range.end + span(range) * SPARE },
      bounds,
    );
    const columns = Math.min(MOST_PIXELS, Math.max(1, Math.round((pixels * span(wide)) / span(range))));
    const body = { of, rows, begin_ns: wide.begin, end_ns: wide.end };
    const timer = window.setTimeout(async () => {
      try {
        const bytes = (await ask(
          { path: '/api/screen', body: { ...body, pixels: columns }, form: 'bytes' },
          abort.signal,
          () => setWaiting(true),
        )) as ArrayBuffer;
        const told = readScreen(bytes, rows, wide, columns);
        for (const [row, screen] of told) screens.current.rows.set(row, screen);
        setError(null);
        setWaiting(false);
        setVersion((old) => old + 1);
      } catch (failure) {
        if (!abort.signal.aborted) setError(failure as Error);
      }
    }, PAUSE);
    const exactTimer = window.setTimeout(async () => {
      try {
        const told = (await ask(
          { path: '/api/intervals', body: { ...body, limit: MOST_INTERVALS } },
          abort.signal,
        )) as Intervals;
        if (!told.complete) return;
        const runs = new Map<number, Run[]>();
        told.rows.forEach((intervals, index) => {
          runs.set(
            rows[index]!,
            intervals.map(({ begin_ns, end_ns, value }) => ({ begin: begin_ns, end: end_ns, value })),
          );
        });
        setExact({ of, range: wide, runs });
      } catch {
        // The screen is there; exact intervals only make it finer.
      }
    }, EXACT_PAUSE);
    return () => {
      abort.abort();
      window.clearTimeout(timer);
      window.clearTimeout(exactTimer);
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [of, rowKey, range.begin, range.end, pixels, bounds]);

  return useMemo(() => {
    const fits =
      exact !== null && exact.of === of && exact.range.begin <= range.begin && exact.range.end >= range.end;
    return {
      screens: screens.current.rows,
      runs: fits ? exact.runs : new Map(),
      runsRange: fits ? exact.range : null,
      error,
      waiting,
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [version, exact, error, waiting, of, range.begin, range.end]);
}

/** The answer of /api/screen: all values as u32, then all shares as u8, row by row. */
export function readScreen(
  bytes: ArrayBuffer,
  rows: readonly number[],
  range: TimeRange,
  columns: number,
): Map<number, ScreenRow> {
  const cells = rows.length * columns;
  if (bytes.byteLength < cells * 5) {
    throw new Error(`the screen has ${bytes.byteLength} bytes instead of ${cells * 5}`);
  }
  const values = new Uint32Array(bytes, 0, cells);
  const shares = new Uint8Array(bytes, cells * 4, cells);
  return new Map(
    rows.map((row, index) => [
      row,
      {
        range,
        values: values.subarray(index * columns, (index + 1) * columns),
        shares: shares.subarray(index * columns, (index + 1) * columns),
      },
    ]),
  );
}

const MOST_ARROWS = 500;
const NO_WAKE_UPS: WakeUps = { arrows: [], complete: true };

export function useWakeUps(rows: readonly number[], range: TimeRange, wanted: boolean): WakeUps {
  const [wakeUps, setWakeUps] = useState<WakeUps>(NO_WAKE_UPS);
  const rowKey = rows.join(' ');
  useEffect(() => {
    if (!wanted || rows.length === 0) {
      setWakeUps(NO_WAKE_UPS);
      return;
    }
    const abort = new AbortController();
    const timer = window.setTimeout(async () => {
      try {
        const body = { rows, begin_ns: range.begin, end_ns: range.end, limit: MOST_ARROWS };
        const told = (await ask({ path: '/api/arrows', body }, abort.signal)) as WakeUps;
        setWakeUps(told.complete ? told : { arrows: [], complete: false });
      } catch {
        if (!abort.signal.aborted) setWakeUps(NO_WAKE_UPS);
      }
    }, EXACT_PAUSE);
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [rowKey, range.begin, range.end, wanted]);
  return wakeUps;
}
