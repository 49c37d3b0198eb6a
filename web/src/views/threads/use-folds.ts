// Which stretches of the shown time are folded: those in which none of the shown threads does anything but wait,
// as the server tells for as many threads as the filters let through.
import { useMemo } from 'react';
import { bendsOf, magnification } from '../../draw/folds';
import type { Bends, TimeRange } from '../../draw/time-scale';
import { useAnswer } from '../../model/answers';
import { useSettled } from '../../parts/settled';

/** Parts of the shown time in which it is looked for. */
const PARTS = 2000;
const MOST_ROWS = 8000;
const PAUSE = 120;
const EVEN = { bends: null, magnified: 1 };

export interface Folds {
  bends: Bends | null;
  /** How much more pixels the open stretches need. */
  magnified: number;
}

export function useFolds(rows: readonly number[], range: TimeRange, wanted: boolean): Folds {
  const settled = useSettled(range, PAUSE);
  const answer = useAnswer<{ quiet: { begin_ns: number; end_ns: number }[] }>(
    wanted && rows.length > 0 && rows.length <= MOST_ROWS
      ? {
          path: '/api/quiet',
          body: { rows, begin_ns: settled.begin, end_ns: settled.end, pixels: PARTS },
        }
      : null,
  );
  const quiet = answer.value?.quiet;
  return useMemo(() => {
    if (!wanted || !quiet) return EVEN;
    const bends = bendsOf(
      quiet.map(({ begin_ns: begin, end_ns: end }) => ({ begin, end })),
      range,
    );
    return { bends, magnified: magnification(range, bends) };
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [quiet, range.begin, range.end, wanted]);
}
