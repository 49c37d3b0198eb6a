// Asking the server: waiting for what is not computed yet, errors with their hints, queries without blanks.
import { afterEach, expect, test, vi } from 'vitest';
import { ServerError, ask, withQuery } from './client';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** A server that gives these answers, one after the other. */
function answering(...answers: [status: number, body: unknown][]): string[] {
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (path: string) => {
    asked.push(path);
    const [status, body] = answers[Math.min(asked.length, answers.length) - 1]!;
    return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status });
  });
  return asked;
}

test('asks again while the answer is worked out, telling how far it is', async () => {
  vi.useFakeTimers();
  const asked = answering(
    [202, { job: 'requests', done: 0.2 }],
    [202, { job: 'requests', done: 0.7 }],
    [200, { total: 3 }],
  );
  const told: number[] = [];
  const answer = ask({ path: '/api/requests' }, undefined, ({ done }) => told.push(done));
  await vi.runAllTimersAsync();
  expect(await answer).toEqual({ total: 3 });
  expect(told).toEqual([0.2, 0.7]);
  expect(asked).toHaveLength(3);
});

test('a question that nobody waits for any more is not asked again', async () => {
  vi.useFakeTimers();
  const asked = answering([202, { job: 'history', done: 0 }]);
  const abort = new AbortController();
  const answer = ask({ path: '/api/threads' }, abort.signal).catch(() => 'given up');
  await vi.advanceTimersByTimeAsync(10);
  abort.abort();
  expect(await answer).toBe('given up');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toHaveLength(1);
});

test('errors carry what the server says, or at least the status', async () => {
  answering([404, { title: 'There is no request 9', detail: 'hint: 1560 were recorded' }]);
  await expect(ask({ path: '/api/requests/9' })).rejects.toMatchObject({
    title: 'There is no request 9',
    status: 404,
  });
  answering([500, 'not JSON']);
  await expect(ask({ path: '/api/requests/9' })).rejects.toThrow('The server answered 500');
});

test('no server is an error that says what to do', async () => {
  vi.stubGlobal('fetch', async () => {
    throw new TypeError('failed');
  });
  const failure = await ask({ path: '/api/recording' }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ServerError);
  expect((failure as ServerError).detail).toContain('slowpath serve');
});

test('queries leave out what is not there', () => {
  expect(withQuery('/api/events', { at_ns: 0, name: '', text: 'a b', host: null })).toBe(
    '/api/events?at_ns=0&text=a+b',
  );
});
