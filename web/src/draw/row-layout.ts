// Which rows of a long list are in sight, and where each of them lies. Heights may differ from row to row;
// positions are sums, looked up by binary search. Pure; used for drawing, for the mouse and for what to ask
// the server for.

export interface RowLayout {
  /** tops[i] is where row i begins; tops[n] is the height of all. */
  tops: Float64Array;
  count: number;
}

export interface RowSpan {
  first: number;
  /** Behind the last. */
  end: number;
}

export function layoutRows(heights: readonly number[]): RowLayout {
  const tops = new Float64Array(heights.length + 1);
  for (let index = 0; index < heights.length; index += 1) {
    tops[index + 1] = tops[index]! + heights[index]!;
  }
  return { tops, count: heights.length };
}

export function totalHeight(layout: RowLayout): number {
  return layout.tops[layout.count]!;
}

export function topOf(layout: RowLayout, row: number): number {
  return layout.tops[row]!;
}

export function heightOf(layout: RowLayout, row: number): number {
  return layout.tops[row + 1]! - layout.tops[row]!;
}

/** The row at a height, or null above the first and below the last. */
export function rowAt(layout: RowLayout, y: number): number | null {
  if (y < 0 || y >= totalHeight(layout)) return null;
  let low = 0;
  let high = layout.count - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (layout.tops[middle]! <= y) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Rows that touch what is scrolled into sight, and `spare` more on either side. */
export function rowsInSight(layout: RowLayout, scrollTop: number, height: number, spare = 0): RowSpan {
  if (layout.count === 0) return { first: 0, end: 0 };
  const first = rowAt(layout, Math.max(0, scrollTop)) ?? layout.count - 1;
  const last = rowAt(layout, Math.max(0, scrollTop + height - 1)) ?? layout.count - 1;
  return {
    first: Math.max(0, first - spare),
    end: Math.min(layout.count, last + 1 + spare),
  };
}

/** The scroll position, as near as possible, that has the whole row in sight. */
export function scrollToRow(layout: RowLayout, row: number, scrollTop: number, height: number): number {
  const top = topOf(layout, row);
  const bottom = top + heightOf(layout, row);
  if (top < scrollTop) return top;
  if (bottom > scrollTop + height) return Math.max(0, bottom - height);
  return scrollTop;
}
