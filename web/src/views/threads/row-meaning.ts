// What the values of rows mean, in ink and in words: states for threads, or the requests that they work for;
// threads for processors. The numbers of states are the recording's own.
import { useMemo } from 'react';
import { identityColour } from '../../draw/colours';
import { pixelAt, runAt, type Ink } from '../../draw/pixel-rows';
import { STATE_NAMES, type StateName, type Thread } from '../../model/interface';
import { useRecording } from '../../model/recording';
import { STATE_WORDS } from '../../model/wording';
import { useTheme } from '../../parts/theme';
import type { RowContent } from '../../parts/time-graph/graph-types';
import { stateInk } from '../requests/path-rows';
import type { ThreadRow } from './thread-rows';

export interface RowMeaning {
  inkOf: (row: ThreadRow) => (value: number) => Ink;
  /** The label of a stretch; empty where it would only be noise. */
  labelOf: (row: ThreadRow, value: number) => string;
  wordsOf: (row: ThreadRow, value: number) => string;
  /** The thread that a processor's value names. */
  threadOf: (row: ThreadRow, value: number) => Thread | null;
}

const NOTHING: Ink = { colour: 0, weight: 0 };
/** Most threads sleep most of the time: that stays in the background. */
const SLEEPING: StateName = 'BLOCKED';
const SLEEPING_WEIGHT = 0.14;

export function useRowMeaning(threads: readonly Thread[], byRequest: boolean): RowMeaning {
  const theme = useTheme();
  const { states } = useRecording();
  const byNumber = useMemo(
    () => new Map(threads.map((thread) => [`${thread.host}:${thread.tid}`, thread])),
    [threads],
  );
  return useMemo(() => {
    const ofStates = stateInk(theme);
    const sleeping: Ink = { ...ofStates(STATE_NAMES.indexOf(SLEEPING)), weight: SLEEPING_WEIGHT };
    const inks = states.map((state) =>
      state === SLEEPING ? sleeping : ofStates(STATE_NAMES.indexOf(state)),
    );
    const ofState = (value: number) => inks[value] ?? NOTHING;
    const ofRequest = remembered((value) => ({ colour: identityColour(theme, value), weight: 0.8 }));
    const ofThread = remembered((value) =>
      isThread(value) ? { colour: identityColour(theme, value), weight: 1, rising: true } : NOTHING,
    );
    const threadOf = (row: ThreadRow, value: number) =>
      row.processor && isThread(value) ? (byNumber.get(`${row.processor.host}:${value}`) ?? null) : null;
    return {
      threadOf,
      inkOf: (row) => (row.processor ? ofThread : byRequest ? ofRequest : ofState),
      labelOf: (row, value) => {
        if (row.processor) return isThread(value) ? threadOf(row, value)?.comm || String(value) : '';
        if (byRequest) return `request ${value}`;
        const state = states[value];
        return !state || state === SLEEPING ? '' : STATE_WORDS[state].title;
      },
      wordsOf: (row, value) => {
        if (row.processor) {
          if (isThread(value)) return `${threadOf(row, value)?.comm || 'thread'} (${value})`;
          return value === 0 ? 'idle' : 'not known';
        }
        if (byRequest) return `works for request ${value}`;
        const state = states[value];
        return state ? `${STATE_WORDS[state].title}: ${STATE_WORDS[state].meaning}` : `state ${value}`;
      },
    };
  }, [theme, states, byNumber, byRequest]);
}

/** Values of processors are threads' numbers; 0 is the idle thread, below it nobody is known. */
function isThread(value: number): boolean {
  return value > 0 && value < 0x8000_0000;
}

function remembered(make: (value: number) => Ink): (value: number) => Ink {
  const kept = new Map<number, Ink>();
  return (value) => {
    const known = kept.get(value);
    if (known) return known;
    const ink = make(value);
    kept.set(value, ink);
    return ink;
  };
}

/** The value that a row shows at a time. */
export function valueAt(shown: RowContent, time: number): number | null {
  if (shown.kind === 'runs') return runAt(shown.runs, time)?.value ?? null;
  return shown.kind === 'screen' ? (pixelAt(shown.screen, time)?.value ?? null) : null;
}
