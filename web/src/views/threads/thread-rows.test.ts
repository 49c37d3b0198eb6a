// Rows of the threads' view and the bytes of a screen: grouping, filtering, and refusing what is too short.
import { describe, expect, test } from 'vitest';
import type { Processor, Thread } from '../../model/interface';
import { readScreen } from './row-data';
import { threadRows, type ThreadFilter } from './thread-rows';

const thread = (
  row: number,
  tid: number,
  pid: number,
  comm: string,
  busy: number,
  serves = false,
): Thread => ({
  row,
  host: 0,
  tid,
  pid,
  comm,
  begin_ns: 0,
  end_ns: 100,
  states: { RUNNING: busy },
  serves_requests: serves,
});
const threads = [
  thread(0, 10, 10, 'nginx', 5),
  thread(1, 20, 20, 'java', 1),
  thread(2, 21, 20, 'worker-1', 40, true),
  thread(3, 22, 20, 'worker-2', 60, true),
];
const cpus: Processor[] = [{ row: 0, host: 0, cpu: 0, busy_ns: 50, known_ns: 100 }];
const everything: ThreadFilter = { text: '', onlyServing: false, only: null, alive: null };
const labels = (filter: Partial<ThreadFilter>) =>
  threadRows(threads, cpus, { ...everything, ...filter }, null).map((row) => row.label);

describe('rows', () => {
  test('processors, then processes by their use, threads by theirs', () => {
    expect(labels({})).toEqual([
      'Processors',
      'CPU 0',
      'java (process 20) · serves requests',
      'worker-2 (22)',
      'worker-1 (21)',
      'java (20)',
      'nginx (process 10)',
      'nginx (10)',
    ]);
  });
  test('filters by name, number, service and a request', () => {
    expect(labels({ text: 'NGINX' }).slice(2)).toEqual(['nginx (process 10)', 'nginx (10)']);
    expect(labels({ text: '20' }).slice(3)).toHaveLength(3);
    expect(labels({ onlyServing: true }).slice(3)).toEqual(['worker-2 (22)', 'worker-1 (21)']);
    expect(labels({ alive: { begin: 100, end: 200 } })).toEqual(['Processors', 'CPU 0']);
    expect(labels({ only: new Set(['0:21']) }).slice(3)).toEqual(['worker-1 (21)']);
  });
  test('a process goes by its own name, whichever of its threads are shown', () => {
    expect(labels({ text: 'worker-1' })[2]).toBe('java (process 20) · serves requests');
  });
});

describe('a screen', () => {
  test('is all values, then all shares, row by row', () => {
    const bytes = new ArrayBuffer(2 * 2 * 5);
    new Uint32Array(bytes, 0, 4).set([1, 2, 3, 4]);
    new Uint8Array(bytes, 16).set([10, 20, 30, 40]);
    const rows = readScreen(bytes, [7, 9], { begin: 0, end: 1 }, 2);
    expect([...rows.get(9)!.values]).toEqual([3, 4]);
    expect([...rows.get(7)!.shares]).toEqual([10, 20]);
  });
  test('that is too short is an error, not a picture', () => {
    expect(() => readScreen(new ArrayBuffer(3), [1], { begin: 0, end: 1 }, 2)).toThrow(
      '3 bytes instead of 10',
    );
  });
});
