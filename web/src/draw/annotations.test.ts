// What is pointed out along a time line: which findings and losses, and where.
import { describe, expect, test } from 'vitest';
import type { Finding } from '../model/interface';
import { annotationsOf, placeAnnotations, type Annotation } from './annotations';

const bounds = { begin: 0, end: 1000 };
const scale = { range: bounds, width: 1000 };

function finding(begin: number, end: number, evidence: [number, number | null][] = []): Finding {
  return {
    host: 0,
    id: 'cpu-quota',
    severity: 'high',
    title: 'Held back',
    explanation: '',
    advice: '',
    share: 0.5,
    begin_ns: begin,
    end_ns: end,
    evidence: evidence.map(([from, to]) => ({
      text: 'seen',
      begin_ns: from,
      end_ns: to,
      request: null,
      tid: null,
    })),
  };
}

describe('what is pointed out', () => {
  test('findings of a part of the recording, evidence with a time, and losses', () => {
    const found = annotationsOf(
      [finding(0, 1000, [[40, 60]]), finding(100, 300)],
      [{ trace: 0, begin_ns: 500, end_ns: 500, events: 1 }],
      bounds,
    );
    expect(found.map(({ begin, end, kind, finding: of }) => [begin, end, kind, of])).toEqual([
      [40, 60, 'high', 0],
      [100, 300, 'high', 1],
      [500, 501, 'lost', null],
    ]);
    expect(found[2]!.title).toBe('1 event lost');
  });
});

describe('their places', () => {
  const at = (begin: number, end: number, kind: Annotation['kind'] = 'lost'): Annotation => ({
    begin,
    end,
    kind,
    title: '',
    finding: null,
  });
  test('many small ones next to each other are one, the worst of them first', () => {
    const all = [
      ...Array.from({ length: 90 }, (_, index) => at(200 + index, 201 + index)),
      at(230, 231, 'high'),
    ];
    const placed = placeAnnotations(all, scale, ['high', 'lost']);
    expect(placed).toHaveLength(1);
    expect(placed[0]!.members[0]!.kind).toBe('high');
    expect([placed[0]!.x, placed[0]!.width]).toEqual([200, 94]);
  });
  test('long ones stay apart, and what is out of sight is left out', () => {
    const all = [at(0, 400), at(100, 300), at(120, 121, 'high'), at(900, 1000)];
    const near = { range: { begin: 50, end: 500 }, width: 450 };
    const placed = placeAnnotations(all, near, ['lost', 'high']);
    expect(placed.map(({ x, width }) => [x, width])).toEqual([
      [0, 350],
      [50, 200],
      [70, 5],
    ]);
    expect(placeAnnotations(all, near, ['medium'])).toEqual([]);
  });
  test('the shortest can still be pointed at', () => {
    expect(placeAnnotations([at(700, 701)], scale, ['lost'])[0]!.width).toBe(5);
  });
});
