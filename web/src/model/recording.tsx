// The opened recording and how far its analyses are, for all views. The recording's facts are asked for
// once; progress is asked for until everything is done.
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from 'react';
import { fitInto, sameRange, type TimeRange } from '../draw/time-scale';
import { Answered } from '../parts/notices';
import { useAnswer } from './answers';
import { ask } from './client';
import type { Host, Progress, Recording } from './interface';
import { adjust, usePlace } from './place-store';

const RecordingContext = createContext<Recording | null>(null);

export function RecordingProvider({ children }: { children: ReactNode }) {
  const answer = useAnswer<Recording>({ path: '/api/recording' });
  useEffect(() => {
    if (answer.value) document.title = `${answer.value.name} – slowpath`;
  }, [answer.value]);
  return (
    <Answered answer={answer}>
      {(recording) => <RecordingContext.Provider value={recording}>{children}</RecordingContext.Provider>}
    </Answered>
  );
}

export function useRecording(): Recording {
  const recording = useContext(RecordingContext);
  if (!recording) throw new Error('useRecording is for what lies within RecordingProvider');
  return recording;
}

export function useHostName(): (host: number) => string {
  const { hosts } = useRecording();
  return useMemo(() => {
    const names = new Map(hosts.map((host: Host) => [host.id, host.name]));
    return (host) => names.get(host) ?? `host ${host}`;
  }, [hosts]);
}

/** Without a trace of the kernel nothing tells what threads and processors did. */
export function useHasKernel(): boolean {
  return useRecording().hosts.some((host) => host.has_kernel);
}

/** Whether it had no end yet when it was opened: what comes later is not shown. */
export function useStillRecorded(): boolean {
  return useRecording().diagnostics.some(({ code }) => code === 'StillRecorded');
}

export interface SharedRange {
  range: TimeRange;
  bounds: TimeRange;
  setRange: (range: TimeRange) => void;
}

/** The one time range that all views share. */
export function useSharedRange(): SharedRange {
  const { duration_ns } = useRecording();
  const { range: chosen } = usePlace();
  const bounds = useMemo(() => ({ begin: 0, end: Math.max(1, duration_ns) }), [duration_ns]);
  const range = useMemo(() => (chosen ? fitInto(chosen, bounds) : bounds), [chosen, bounds]);
  const setRange = useMemo(
    () => (next: TimeRange) => {
      const fitted = fitInto(next, bounds);
      const all = fitted.begin <= bounds.begin && fitted.end >= bounds.end;
      adjust({ range: all ? null : fitted });
    },
    [bounds],
  );
  return { range, bounds, setRange };
}

/** What the address says of times beyond the recording is put right, once the recording is known. */
export function useAddressWithinRecording(): void {
  const { range, bounds, setRange } = useSharedRange();
  const { range: chosen, at } = usePlace();
  useEffect(() => {
    if (chosen && !sameRange(chosen, range)) setRange(range);
  }, [chosen, range, setRange]);
  useEffect(() => {
    if (at !== null && at > bounds.end) adjust({ at: null });
  }, [at, bounds]);
}

const PROGRESS_PAUSE = 600;

export function useProgress(): Progress | null {
  const [progress, setProgress] = useState<Progress | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const look = async () => {
      try {
        const told = (await ask({ path: '/api/progress' }, abort.signal)) as Progress;
        setProgress(told);
        if (!told.done) timer = window.setTimeout(look, PROGRESS_PAUSE);
      } catch {
        if (!abort.signal.aborted) timer = window.setTimeout(look, PROGRESS_PAUSE * 5);
      }
    };
    void look();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
    };
  }, []);
  return progress;
}
