// A critical path as rows, from a small time line: thread 1 runs, waits for thread 2, and runs again.
//   1  RRRR....RR
//   2      DDRR
import { expect, test } from 'vitest';
import type { Path, PathSegment, Span, StateName } from '../../model/interface';
import { STATE_NAMES } from '../../model/interface';
import { arrowsOfPath, nearSpans, runsOfPath, segmentAt, spanTree, threadsOfPath } from './path-rows';

const segment = (tid: number, begin: number, end: number, state: StateName): PathSegment => ({
  begin_ns: begin,
  end_ns: end,
  host: 0,
  tid,
  comm: `worker-${tid}`,
  state,
  depth: tid - 1,
  detail: '',
  blocked_by: null,
});
const path: Path = {
  host: 0,
  tid: 1,
  begin_ns: 0,
  end_ns: 100,
  segments: [
    segment(2, 40, 60, 'BLOCK_DEVICE'),
    segment(2, 60, 80, 'RUNNING'),
    segment(1, 80, 100, 'RUNNING'),
  ],
  links: [
    { at_ns: 40, from_host: 0, from_tid: 1, to_host: 0, to_tid: 2, kind: 'wait' },
    { at_ns: 80, from_host: 0, from_tid: 2, to_host: 0, to_tid: 1, kind: 'wake-up' },
    { at_ns: 90, from_host: 0, from_tid: 9, to_host: 0, to_tid: 1, kind: 'wake-up' },
  ],
  states: { RUNNING: 80, BLOCK_DEVICE: 20 },
};
path.segments.unshift(segment(1, 0, 40, 'RUNNING'));

test('a row per thread, the own one first, with its share of the time', () => {
  expect(threadsOfPath(path).map(({ key, total }) => [key, total])).toEqual([
    ['0:1', 60],
    ['0:2', 40],
  ]);
});

test('a row is called what its thread is called for most of its time', () => {
  const named = (begin: number, end: number, comm: string) => ({
    ...segment(1, begin, end, 'RUNNING'),
    comm,
  });
  const segments = [named(0, 10, 'orders'), named(10, 40, ''), named(40, 60, 'checkpoint')];
  expect(threadsOfPath({ ...path, segments }).map(({ comm }) => comm)).toEqual(['checkpoint']);
});

test('arrows where the path changes threads, between rows that are there', () => {
  const rowOf = new Map([
    ['0:1', 3],
    ['0:2', 4],
  ]);
  expect(arrowsOfPath(path, rowOf).map(({ fromRow, toRow, fromTime }) => [fromRow, toRow, fromTime])).toEqual(
    [
      [3, 4, 40],
      [4, 3, 80],
    ],
  );
});

test('from its begin, a path starts at 0', () => {
  const later = {
    ...path,
    segments: path.segments.map((one) => ({ ...one, begin_ns: one.begin_ns + 7, end_ns: one.end_ns + 7 })),
  };
  expect(runsOfPath(later, 7)[0]).toMatchObject({ begin: 0, end: 40, value: STATE_NAMES.indexOf('RUNNING') });
});

test('the segment at a time, the last one at the very end', () => {
  expect([0, 39, 40, 79, 100].map((time) => segmentAt(path, time)?.begin_ns)).toEqual([0, 0, 40, 60, 80]);
  expect(segmentAt(path, 101)).toBeNull();
});

const span = (id: string, parent: string | null, begin: number): Span => ({
  id: 0,
  span_id: id,
  ...(parent === null ? {} : { parent_span_id: parent }),
  service: 's',
  operation: id,
  host: 0,
  begin_ns: begin,
  end_ns: begin + 10,
});

test('spans are a tree; circles and lost parents do not matter', () => {
  const spans = [
    span('c', 'b', 3),
    span('a', null, 0),
    span('b', 'a', 1),
    span('x', 'lost', 9),
    span('p', 'q', 5),
    span('q', 'p', 6),
  ];
  expect(spanTree(spans).map(({ span: one, depth }) => `${one.span_id}${depth}`)).toEqual([
    'a0',
    'b1',
    'c2',
    'x0',
    'p0',
    'q1',
  ]);
});

test('near a span are its callers and what it calls', () => {
  const rows = spanTree([
    span('a', null, 0),
    span('b', 'a', 1),
    span('c', 'b', 2),
    span('d', 'c', 3),
    span('e', 'a', 4),
  ]);
  expect(nearSpans(rows, 'b').map(({ span: one }) => one.span_id)).toEqual(['a', 'b', 'c']);
});
