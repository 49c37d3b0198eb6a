// States over time as pixels, drawn in text: one letter per pixel, "." where nothing is known. Upper case
// where the state fills the pixel, lower case where it fills a part of it.
import { describe, expect, test } from 'vitest';
import {
  emptyPixelRow,
  firstRunAfter,
  labelsOfRuns,
  paintRow,
  pixelsOfRuns,
  pixelsOfScreen,
  runAt,
  stretchesOf,
  type Run,
} from './pixel-rows';

/** "AAbb..c": a run per letter group, ten nanoseconds a letter; a blank is a gap. */
function runsOf(text: string): Run[] {
  const runs: Run[] = [];
  for (const match of text.matchAll(/([A-Z])\1*/g)) {
    const begin = match.index * 10;
    runs.push({ begin, end: begin + match[0].length * 10, value: match[1]!.charCodeAt(0) });
  }
  return runs;
}

function picture(runs: readonly Run[], begin: number, end: number, width: number): string {
  const row = emptyPixelRow(width);
  pixelsOfRuns(runs, { range: { begin, end }, width }, row);
  return Array.from(row.values, (value, x) => {
    const share = row.shares[x]!;
    if (share === 0) return '.';
    const letter = String.fromCharCode(value);
    return share >= 250 ? letter : letter.toLowerCase();
  }).join('');
}

describe('runs as pixels', () => {
  const runs = runsOf('AAAB CCCCCD');
  test('one pixel per letter', () => {
    expect(picture(runs, 0, 110, 11)).toBe('AAAB.CCCCCD');
  });
  test('zoomed in, and cut at both edges', () => {
    expect(picture(runs, 20, 60, 8)).toBe('AABB..CC');
  });
  test('zoomed out, the state that fills most of a pixel wins', () => {
    expect(picture(runs, 0, 110, 4)).toBe('AbCc');
  });
  test('a run shorter than a pixel is not lost', () => {
    expect(picture([{ begin: 55, end: 56, value: 65 }], 0, 1000, 10)).toBe('a.........');
    expect(picture([{ begin: 999, end: 1000, value: 65 }], 0, 1000, 10)).toBe('.........a');
  });
  test('nothing outside of the range', () => {
    expect(picture(runs, 200, 300, 5)).toBe('.....');
  });
});

test('a screen of another range is stretched to where it belongs', () => {
  const row = emptyPixelRow(8);
  const screen = {
    range: { begin: 0, end: 40 },
    values: Uint32Array.from([65, 66, 67, 68]),
    shares: Uint8Array.from([255, 255, 255, 255]),
  };
  pixelsOfScreen(screen, { range: { begin: 20, end: 60 }, width: 8 }, row);
  expect(stretchesOf(row)).toEqual([
    { from: 0, to: 2, value: 67 },
    { from: 2, to: 4, value: 68 },
  ]);
});

test('the run at a time', () => {
  const runs = runsOf('AA BB');
  expect(runAt(runs, 5)?.value).toBe(65);
  expect(runAt(runs, 25)).toBeNull();
  expect(runAt(runs, 30)?.value).toBe(66);
  expect(runAt(runs, 50)).toBeNull();
  expect(firstRunAfter(runs, 20)).toBe(1);
});

describe('painting', () => {
  const paint = (weight: number, share: number, rising = false) => {
    const target = { pixels: new Uint32Array(2 * 10), width: 2, height: 10 };
    const row = { values: Uint32Array.from([1, 1]), shares: Uint8Array.from([share, 0]) };
    paintRow(target, 0, 10, row, () => ({ colour: 0x112233, weight, rising }), 0xffffff);
    return Array.from({ length: 10 }, (_, y) => target.pixels[y * 2]!);
  };
  test('full states are full, others stand on the base line', () => {
    expect(paint(1, 255).every((pixel) => pixel === 0xff332211)).toBe(true);
    expect(
      paint(0.3, 255)
        .map((pixel) => (pixel ? '#' : '.'))
        .join(''),
    ).toBe('.......###');
  });
  test('a small share is paler, or lower where it rises', () => {
    expect(paint(1, 3)[9]).not.toBe(0xff332211);
    expect(
      paint(1, 128, true)
        .map((pixel) => (pixel ? '#' : '.'))
        .join(''),
    ).toBe('.....#####');
  });
  test('each pixel is as high as its value, on one base line', () => {
    const row = { values: Uint32Array.from([3, 0, 9, 1]), shares: Uint8Array.from([255, 0, 255, 255]) };
    const heights: Record<number, number> = { 3: 0.3, 9: 0.9, 1: 0 };
    const target = { pixels: new Uint32Array(4 * 10), width: 4, height: 10 };
    // Cut off by the upper edge of the picture.
    paintRow(target, -4, 10, row, (value) => ({ colour: value, weight: heights[value]! }), 0xffffff);
    const lines = Array.from({ length: 10 }, (_, y) =>
      Array.from(target.pixels.subarray(y * 4, y * 4 + 4), (pixel) => (pixel >>> 16) & 255 || '.').join(''),
    );
    expect(lines).toEqual(['..9.', '..9.', '..9.', '3.9.', '3.9.', '3.9.', '....', '....', '....', '....']);
  });
  test('where nothing is known, nothing is painted', () => {
    expect(paint(1, 0).some((pixel) => pixel !== 0)).toBe(false);
  });
});

test('neighbours of one state share a label', () => {
  const runs = [0, 50, 100].map((begin) => ({ begin, end: begin + 50, value: 65 }));
  const labels = labelsOfRuns(runs, { range: { begin: 0, end: 150 }, width: 150 }, () => 'A');
  expect(labels.map(({ x, width }) => [x, width])).toEqual([[0, 150]]);
});

test('labels only where there is room', () => {
  const labels = labelsOfRuns(runsOf('AAAAAAAAB'), { range: { begin: 0, end: 90 }, width: 90 }, (run) =>
    String.fromCharCode(run.value),
  );
  expect(labels.map(({ text, x, width }) => [text, x, width])).toEqual([['A', 0, 80]]);
});
