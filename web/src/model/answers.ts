// Answers of the server as React state. A recording does not change, so what was answered once is kept
// (the latest few hundred answers); a question that is no longer of interest is cancelled when nobody
// else waits for it.
import { useEffect, useMemo, useRef, useState } from 'react';
import { ask, type Question, type Waiting } from './client';

export interface Answer<T> {
  /** What was answered: to this question, or while it is open (and if wanted) to the one before. */
  value: T | null;
  error: Error | null;
  /** The job that the server is still busy with, if it told one. */
  waiting: Waiting | null;
  /** Whether `value` answers another question than the present one, or none does. */
  stale: boolean;
}

interface Kept {
  promise: Promise<unknown>;
  value?: unknown;
  listeners: Set<(waiting: Waiting) => void>;
  users: number;
  abort: AbortController;
}

const KEPT_ANSWERS = 300;
const kept = new Map<string, Kept>();

export function keyOf(question: Question): string {
  return question.body === undefined ? question.path : `${question.path} ${JSON.stringify(question.body)}`;
}

/** Asks once; the same question meanwhile or later shares the answer. */
function keep(question: Question): Kept {
  const key = keyOf(question);
  const known = kept.get(key);
  if (known) {
    kept.delete(key);
    kept.set(key, known);
    return known;
  }
  const abort = new AbortController();
  const listeners = new Set<(waiting: Waiting) => void>();
  const promise = ask(question, abort.signal, (waiting) => {
    for (const listener of listeners) listener(waiting);
  });
  const entry: Kept = { promise, listeners, users: 0, abort };
  kept.set(key, entry);
  promise.then(
    (value) => {
      entry.value = value;
    },
    () => {
      if (kept.get(key) === entry) kept.delete(key);
    },
  );
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT_ANSWERS) break;
    if (kept.get(oldest)?.users === 0) kept.delete(oldest);
    else break;
  }
  return entry;
}

/** For actions (following a wake-up, exporting) rather than for what is shown. */
export async function askOnce<T>(question: Question): Promise<T> {
  return (await keep(question).promise) as T;
}

export function useAnswer<T>(question: Question | null, keepPrevious = true): Answer<T> {
  const key = question ? keyOf(question) : null;
  const asked = useRef(question);
  asked.current = question;
  const [shown, setShown] = useState<{ key: string; value: T } | null>(null);
  const [failed, setFailed] = useState<{ key: string; error: Error } | null>(null);
  const [waiting, setWaiting] = useState<Waiting | null>(null);

  useEffect(() => {
    const question = asked.current;
    if (key === null || !question) return;
    const entry = keep(question);
    entry.users += 1;
    let gone = false;
    let settled = entry.value !== undefined;
    setWaiting(null);
    entry.listeners.add(setWaiting);
    entry.promise
      .then(
        (value) => {
          if (gone) return;
          setShown({ key, value: value as T });
          setFailed(null);
          setWaiting(null);
        },
        (error: unknown) => {
          if (gone) return;
          setFailed({ key, error: error instanceof Error ? error : new Error(String(error)) });
          setWaiting(null);
        },
      )
      .finally(() => {
        settled = true;
      });
    return () => {
      gone = true;
      entry.users -= 1;
      entry.listeners.delete(setWaiting);
      if (!settled && entry.users === 0) {
        if (kept.get(key) === entry) kept.delete(key);
        entry.abort.abort();
      }
    };
  }, [key]);

  const ready = key === null ? undefined : (kept.get(key)?.value as T | undefined);
  return useMemo(() => {
    const present = ready ?? (shown && shown.key === key ? shown.value : null);
    const error = failed && failed.key === key ? failed.error : null;
    const value = present ?? (keepPrevious && key !== null && !error ? (shown?.value ?? null) : null);
    return { value, error, waiting: present ? null : waiting, stale: present === null };
  }, [ready, shown, failed, waiting, key, keepPrevious]);
}
