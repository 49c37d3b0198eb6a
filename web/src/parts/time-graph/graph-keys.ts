// What the keyboard does in a time graph: W and S zoom, A and D (and the arrows left and right) pan, 0 shows
// all, the arrows up and down select rows, Enter opens, the space bar marks. The same keys as the field's tools.
import type { KeyboardEvent } from 'react';
import { contains, pan, zoom, type TimeRange } from '../../draw/time-scale';

interface GraphKeys {
  range: TimeRange;
  bounds: TimeRange;
  onRange: (range: TimeRange) => void;
  at: number | null;
  rowCount: number;
  selectedIndex: number;
  canSelect: (index: number) => boolean;
  onSelect: (index: number) => void;
  onOpen: (index: number) => void;
  onMark: (index: number) => void;
}

const PAGE = 12;

export function useGraphKeys(keys: GraphKeys): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (target.tagName === 'INPUT' || target.tagName === 'SELECT') return;
    if ((event.key === 'Enter' || event.key === ' ') && target.tagName === 'BUTTON') return;
    if (handleGraphKey(event.key, keys)) event.preventDefault();
  };
}

export function handleGraphKey(key: string, keys: GraphKeys): boolean {
  const moved = rangeAfterKey(key, keys.range, keys.bounds, keys.at);
  if (moved) {
    keys.onRange(moved);
    return true;
  }
  switch (key) {
    case 'ArrowUp':
      // From nothing to the last row, as the other arrow goes to the first.
      return selectNext(keys, (keys.selectedIndex < 0 ? keys.rowCount : keys.selectedIndex) - 1, -1);
    case 'ArrowDown':
      return selectNext(keys, keys.selectedIndex + 1, 1);
    case 'PageUp':
      return selectNext(keys, Math.max(0, keys.selectedIndex - PAGE), 1);
    case 'PageDown':
      return selectNext(keys, Math.min(keys.rowCount - 1, keys.selectedIndex + PAGE), -1);
    case 'Home':
      return selectNext(keys, 0, 1);
    case 'End':
      return selectNext(keys, keys.rowCount - 1, -1);
    case 'Enter':
      if (keys.selectedIndex < 0) return false;
      keys.onOpen(keys.selectedIndex);
      return true;
    case ' ':
      if (keys.selectedIndex < 0) return false;
      keys.onMark(keys.selectedIndex);
      return true;
    default:
      return false;
  }
}

/** The range that a key leads to, or null where the key is no zoom and no pan. */
export function rangeAfterKey(
  key: string,
  range: TimeRange,
  bounds: TimeRange,
  at: number | null,
): TimeRange | null {
  const anchor = at !== null && contains(range, at) ? at : (range.begin + range.end) / 2;
  switch (key) {
    case 'w':
    case 'W':
    case '+':
      return zoom(range, 1 / 1.5, anchor, bounds);
    case 's':
    case 'S':
    case '-':
      return zoom(range, 1.5, anchor, bounds);
    case 'a':
    case 'A':
    case 'ArrowLeft':
      return pan(range, -0.15, bounds);
    case 'd':
    case 'D':
    case 'ArrowRight':
      return pan(range, 0.15, bounds);
    case '0':
      return bounds;
    default:
      return null;
  }
}

function selectNext(keys: GraphKeys, from: number, direction: 1 | -1): boolean {
  for (let index = from; index >= 0 && index < keys.rowCount; index += direction) {
    if (!keys.canSelect(index)) continue;
    keys.onSelect(index);
    return true;
  }
  return true;
}
