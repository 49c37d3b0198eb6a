// The exploration that is shown, which may run meanwhile: its progress is asked for again and again, and everything
// else whenever the progress tells of another revision. Answers are not kept, as each is soon out of date; for what
// does not change there is answers.ts.
import { useEffect, useState } from 'react';
import type { Answer } from './answers';
import { ask, withQuery, type Waiting } from './client';
import type { Exploration, ExplorationProgress } from './interface';

const WHILE_IT_RUNS = 1500;
/** It may be resumed. */
const WHILE_IT_RESTS = 5000;

export interface SeenProgress {
  progress: ExplorationProgress | null;
  /** Why the server could not be asked just now. */
  error: Error | null;
}

export function useExplorationProgress(): SeenProgress {
  const [seen, setSeen] = useState<SeenProgress>({ progress: null, error: null });
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const look = async () => {
      let pause = WHILE_IT_RESTS;
      try {
        const progress = (await ask(
          { path: '/api/exploration/progress' },
          abort.signal,
        )) as ExplorationProgress;
        if (isUnderWay(progress)) pause = WHILE_IT_RUNS;
        setSeen((old) => (!old.error && isSame(old.progress, progress) ? old : { progress, error: null }));
      } catch (failure) {
        if (abort.signal.aborted) return;
        setSeen(({ progress }) => ({ progress, error: failure as Error }));
      }
      timer = window.setTimeout(look, pause);
    };
    void look();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, []);
  return seen;
}

export function isUnderWay({ state }: ExplorationProgress): boolean {
  return state === 'running' || state === 'explaining';
}

function isSame(one: ExplorationProgress | null, other: ExplorationProgress): boolean {
  return one !== null && JSON.stringify(one) === JSON.stringify(other);
}

export function useExploration(revision: string | null): Answer<Exploration> {
  return useLatest<Exploration>(revision === null ? null : withQuery('/api/exploration', { revision }));
}

/** The answer to the present question, and until it is there that to the one before. */
export function useLatest<T>(path: string | null): Answer<T> {
  const [shown, setShown] = useState<{ path: string; value: T } | null>(null);
  const [failed, setFailed] = useState<{ path: string; error: Error } | null>(null);
  const [waiting, setWaiting] = useState<Waiting | null>(null);
  useEffect(() => {
    if (path === null) return;
    const abort = new AbortController();
    ask({ path }, abort.signal, setWaiting).then(
      (value) => {
        setShown({ path, value: value as T });
        setFailed(null);
        setWaiting(null);
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setFailed({ path, error: error as Error });
      },
    );
    return () => abort.abort();
  }, [path]);
  const error = failed?.path === path ? failed.error : null;
  const value = error ? null : (shown?.value ?? null);
  return { value, error, waiting: value ? null : waiting, stale: shown?.path !== path };
}
