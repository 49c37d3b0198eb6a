// Keys of the time graph: what each does to the range and to the selection.
import { describe, expect, test } from 'vitest';
import { handleGraphKey, rangeAfterKey } from './graph-keys';

const bounds = { begin: 0, end: 1_000_000 };
const range = { begin: 400_000, end: 600_000 };

describe('the range', () => {
  test('W zooms in around the selected time, S out again', () => {
    const near = rangeAfterKey('w', range, bounds, 400_000)!;
    expect(near).toEqual({ begin: 400_000, end: 533_333 });
    expect(rangeAfterKey('s', near, bounds, 400_000)).toEqual({ begin: 400_000, end: 600_000 });
  });
  test('without a time in sight, around the middle', () => {
    expect(rangeAfterKey('W', range, bounds, 999_999)).toEqual({ begin: 433_333, end: 566_667 });
  });
  test('A and D pan, 0 is all, other keys do nothing', () => {
    expect(rangeAfterKey('a', range, bounds, null)).toEqual({ begin: 370_000, end: 570_000 });
    expect(rangeAfterKey('ArrowRight', range, bounds, null)).toEqual({ begin: 430_000, end: 630_000 });
    expect(rangeAfterKey('0', range, bounds, null)).toEqual(bounds);
    expect(rangeAfterKey('x', range, bounds, null)).toBeNull();
  });
});

describe('the selection', () => {
  /** Rows as letters, "=" cannot be selected; tells what is selected after a key. */
  const after = (rows: string, selected: number, key: string) => {
    let now = selected;
    handleGraphKey(key, {
      range,
      bounds,
      onRange: () => {},
      at: null,
      rowCount: rows.length,
      selectedIndex: selected,
      canSelect: (index) => rows[index] !== '=',
      onSelect: (index) => {
        now = index;
      },
      onOpen: () => {},
      onMark: () => {},
    });
    return now;
  };
  test('steps over rows that cannot be selected', () => {
    expect(after('=ab=c', 2, 'ArrowDown')).toBe(4);
    expect(after('=ab=c', 4, 'ArrowUp')).toBe(2);
    expect(after('=ab=c', 1, 'ArrowUp')).toBe(1);
  });
  test('from nothing, and to the ends', () => {
    expect(after('=abc', -1, 'ArrowDown')).toBe(1);
    expect(after('=abc=', -1, 'ArrowUp')).toBe(3);
    expect(after('=abc=', 2, 'End')).toBe(3);
    expect(after('=abc=', 2, 'Home')).toBe(1);
  });
});
