// Steps from the selected time: to the thread's state before or after, to the thread that woke it, and to
// the one that it wakes next. Each step asks the server only for what lies around the selected time.
import { useState } from 'react';
import { askOnce } from '../../model/answers';
import type { Interval, Intervals, StateName, Thread, WakeUp, WakeUps } from '../../model/interface';
import { adjust, go, usePlace } from '../../model/place-store';
import { useSharedRange } from '../../model/recording';
import { showTime, span, type TimeRange } from '../../draw/time-scale';

interface FollowButtonsProps {
  thread: Thread;
  /** Whether the filters let a thread's row be seen. */
  isShown: (row: number) => boolean;
}

const MOST = 4000;
/** What a thread waits for that no thread wakes. */
const WAITED_WORDS: Partial<Record<StateName, string>> = {
  TIMER: 'a time',
  BLOCK_DEVICE: 'a disk',
  NETWORK: 'the network',
  USER_INPUT: 'input',
  IPI: 'another processor',
};
const UNTOLD = 'what the recording does not tell';

export function FollowButtons({ thread, isShown }: FollowButtonsProps) {
  const { at } = usePlace();
  const { range, bounds } = useSharedRange();
  const [told, setTold] = useState('');
  const time = at ?? Math.round((range.begin + range.end) / 2);

  const arrive = (to: number, row: number) => {
    setTold('');
    const next = showTime(range, to, bounds);
    if (row === thread.row) adjust({ at: to, range: next });
    else {
      // The way may lead out of what is filtered: then the filters go, not the way.
      const filters: Record<string, null> = isShown(row)
        ? {}
        : { text: null, tids: null, serving: null, alive: null };
      go({ at: to, range: next, thread: row, filters });
    }
  };
  const step = async (direction: 'before' | 'after') => {
    const found = await stateBeside(thread.row, time, direction, range, bounds);
    if (found) arrive(found.begin_ns, thread.row);
    else setTold('There is no other state');
  };
  const follow = async (direction: 'waker' | 'woken') => {
    const wake = await wakeUpBeside(thread.row, time, direction, range, bounds);
    if (!wake) setTold(direction === 'waker' ? 'Nothing woke it before' : 'It wakes no thread after');
    else if (direction === 'woken') arrive(wake.to_ns, wake.to_row);
    else {
      arrive(wake.from_ns, wake.from_row ?? thread.row);
      if (wake.from_row === null) setTold(`No thread: it waited for ${WAITED_WORDS[wake.waited] ?? UNTOLD}`);
    }
  };

  return (
    <span className="follow-buttons" role="group" aria-label="Follow the thread">
      <span className="muted" role="status">
        {told}
      </span>
      <button type="button" title="The state before" onClick={() => void step('before')}>
        ◀ state
      </button>
      <button type="button" title="The next state" onClick={() => void step('after')}>
        state ▶
      </button>
      <button
        type="button"
        title="Go to the thread that last woke this one, or sent it the packet that did, at that time"
        onClick={() => void follow('waker')}
      >
        ↖ who woke it
      </button>
      <button
        type="button"
        title="Go to the thread that this one wakes next, when that one runs"
        onClick={() => void follow('woken')}
      >
        whom it wakes ↘
      </button>
    </span>
  );
}

/** Looks further and further away from the time, so that a quiet thread costs a few questions, not a scan. */
function* windows(time: number, later: boolean, range: TimeRange, bounds: TimeRange): Generator<TimeRange> {
  let reach = Math.max(1000, span(range) / 4);
  for (;;) {
    const begin = later ? time : Math.max(bounds.begin, time - reach);
    const end = later ? Math.min(bounds.end, time + reach) : Math.min(bounds.end, time + 1);
    yield { begin: Math.floor(begin), end: Math.ceil(Math.max(end, begin + 1)) };
    if (later ? end >= bounds.end : begin <= bounds.begin) return;
    reach *= 8;
  }
}

async function stateBeside(
  row: number,
  time: number,
  direction: 'before' | 'after',
  range: TimeRange,
  bounds: TimeRange,
): Promise<Interval | null> {
  for (const window of windows(time, direction === 'after', range, bounds)) {
    const answer = await askOnce<Intervals>({
      path: '/api/intervals',
      body: { of: 'threads', rows: [row], begin_ns: window.begin, end_ns: window.end, limit: MOST },
    });
    const intervals = answer.rows[0] ?? [];
    const found =
      direction === 'after'
        ? intervals.find((interval) => interval.begin_ns > time)
        : [...intervals].reverse().find((interval) => interval.end_ns <= time);
    if (found) return found;
  }
  return null;
}

async function wakeUpBeside(
  row: number,
  time: number,
  direction: 'waker' | 'woken',
  range: TimeRange,
  bounds: TimeRange,
): Promise<WakeUp | null> {
  for (const window of windows(time, direction === 'woken', range, bounds)) {
    const answer = await askOnce<WakeUps>({
      path: '/api/arrows',
      body: { touching: row, begin_ns: window.begin, end_ns: window.end, limit: MOST },
    });
    const found =
      direction === 'waker'
        ? answer.arrows
            .filter((wake) => wake.to_row === row && wake.from_row !== row && wake.from_ns < time)
            .sort((one, other) => other.to_ns - one.to_ns)[0]
        : answer.arrows
            .filter((wake) => wake.from_row === row && wake.to_row !== row && wake.from_ns > time)
            .sort((one, other) => one.from_ns - other.from_ns)[0];
    if (found) return found;
    if (!answer.complete && span(window) > span(bounds) / 2) return null;
  }
  return null;
}
