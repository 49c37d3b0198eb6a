// Rows, arrows, icicles and histograms: where things lie, without a browser.
import { describe, expect, test } from 'vitest';
import { arrowsBetweenRows, linesOfArrows } from './arrows';
import { histogramBars, histogramMarks } from './histogram';
import { icicleBoxes, icicleDepth, icicleTree } from './icicle';
import { layoutRows, rowAt, rowsInSight, scrollToRow, totalHeight } from './row-layout';
import { svgPicture } from './svg-picture';

describe('rows', () => {
  const layout = layoutRows([20, 10, 30, 20]);
  test('the row at a height', () => {
    expect([0, 19, 20, 29, 30, 79].map((y) => rowAt(layout, y))).toEqual([0, 0, 1, 1, 2, 3]);
    expect([rowAt(layout, -1), rowAt(layout, 80)]).toEqual([null, null]);
    expect(totalHeight(layout)).toBe(80);
  });
  test('rows in sight', () => {
    expect(rowsInSight(layout, 20, 15)).toEqual({ first: 1, end: 3 });
    expect(rowsInSight(layout, 0, 1000)).toEqual({ first: 0, end: 4 });
    expect(rowsInSight(layoutRows([]), 0, 100)).toEqual({ first: 0, end: 0 });
  });
  test('scrolls no further than needed', () => {
    expect(scrollToRow(layout, 3, 0, 50)).toBe(30);
    expect(scrollToRow(layout, 0, 40, 50)).toBe(0);
    expect(scrollToRow(layout, 1, 10, 50)).toBe(10);
  });
});

describe('arrows', () => {
  const ends = (arrow: string) => {
    const [from, to] = arrow.split('>') as [string, string];
    return { from, to, fromTime: 10, toTime: 20 };
  };
  const rowOf = new Map([
    ['a', 0],
    ['b', 1],
  ]);
  test('only between rows that are shown', () => {
    const shown = arrowsBetweenRows(['a>b', 'a>hidden', 'b>b'], ends, rowOf);
    expect(shown).toEqual([{ fromRow: 0, fromTime: 10, toRow: 1, toTime: 20 }]);
  });
  const layout = layoutRows([20, 20, 20]);
  const scale = { range: { begin: 0, end: 100 }, width: 100 };
  test('out of sight in time or height, they are left out', () => {
    const late = { fromRow: 0, fromTime: 500, toRow: 1, toTime: 600 };
    const here = { fromRow: 0, fromTime: 10, toRow: 2, toTime: 10 };
    expect(linesOfArrows([late, here], scale, layout, 0, 60).lines).toHaveLength(1);
    expect(linesOfArrows([here], scale, layout, 500, 60).lines).toHaveLength(0);
  });
  test('too many are said, not drawn', () => {
    const many = Array.from({ length: 20 }, () => ({ fromRow: 0, fromTime: 1, toRow: 1, toTime: 2 }));
    expect(linesOfArrows(many, scale, layout, 0, 60, 10)).toEqual({ lines: [], tooMany: true });
  });
});

describe('icicle', () => {
  const tree = icicleTree([
    { path: ['a'], weight: 100 },
    { path: ['a', 'b'], weight: 60 },
    { path: ['a', 'c'], weight: 20 },
    { path: ['d', 'e'], weight: 50 },
  ]);
  test('boxes are as wide as their time, callees below callers', () => {
    const boxes = icicleBoxes(tree, 150);
    const drawn = boxes.map(({ node, x, width, depth }) => `${node.name} ${x}+${width} at ${depth}`);
    expect(drawn).toEqual(['a 0+100 at 0', 'b 0+60 at 1', 'c 60+20 at 1', 'd 100+50 at 0', 'e 100+50 at 1']);
  });
  test('a caller that was not told itself is as wide as its callees', () => {
    expect(tree[1]).toMatchObject({ name: 'd', size: 50, source: null });
    expect(icicleDepth(tree)).toBe(2);
  });
});

describe('histogram', () => {
  const edges = [1000, 10_000, 100_000, 1_000_000];
  test('edges are equally far apart, rare values can be seen', () => {
    const bars = histogramBars(edges, [1, 0, 10_000], 300, 50);
    expect(bars.map(({ x, width, height }) => [Math.round(x), Math.round(width), height])).toEqual([
      [0, 99, 2],
      [200, 99, 50],
    ]);
  });
  test('marks are round values', () => {
    expect(histogramMarks(edges, 300).map(({ value }) => value)).toEqual([
      1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000,
    ]);
  });
});

test('a picture as SVG has its names escaped and its states as rectangles', () => {
  const svg = svgPicture(
    [
      {
        label: 'a <b> & c',
        depth: 0,
        height: 20,
        heading: false,
        runs: [{ begin: 0, end: 50, value: 0 }],
        screen: null,
        inkOf: () => ({ colour: 0x00ff00, weight: 1 }),
      },
    ],
    { range: { begin: 0, end: 100 }, width: 400 },
    [],
    { background: 0xffffff, text: 0, muted: 0x777777, line: 0xdddddd },
  );
  expect(svg).toContain('a &lt;b&gt; &amp; c');
  expect(svg).toContain('<rect x="230" y="28" width="200" height="16" fill="#00ff00"/>');
});
