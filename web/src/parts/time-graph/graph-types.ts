// What a time graph is made of: rows, what each of them shows, arrows and marks. Plain data; the views make
// it from the server's answers, the time graph draws it and knows nothing of threads or requests.
import type { ReactNode } from 'react';
import type { Arrow } from '../../draw/arrows';
import type { Ink, Run, ScreenRow } from '../../draw/pixel-rows';

export interface GraphRow {
  key: string;
  /** Read out by screen readers, and shown where the graph has no columns of its own. */
  label: string;
  depth?: number;
  height?: number;
  /** A row that only names the rows below it. */
  heading?: boolean;
  /** A row to look at, of which nothing else can be shown: it is never selected. */
  passive?: boolean;
}

export const canSelect = (row: GraphRow | undefined): row is GraphRow =>
  row !== undefined && !row.heading && !row.passive;

export interface GraphColumn<R extends GraphRow> {
  key: string;
  title: string;
  /** Only read out: the column is too narrow for it. */
  titleIsHidden?: boolean;
  width: number;
  align?: 'right';
  cell: (row: R, index: number) => ReactNode;
  /** The table's order by this column, where it can be ordered. */
  sorted?: 'asc' | 'desc' | 'no';
  onSort?: () => void;
}

export type RowContent =
  | { kind: 'nothing' }
  | { kind: 'runs'; runs: readonly Run[]; inkOf: (value: number) => Ink; textOf?: (run: Run) => string }
  | { kind: 'screen'; screen: ScreenRow; inkOf: (value: number) => Ink };

/** A stretch of time that is pointed out over all rows, for instance when the selected request ran. */
export interface GraphMark {
  begin: number;
  end: number;
}

export interface GraphArrows {
  arrows: readonly Arrow[];
  /** Some were left out already (the server's limit). */
  incomplete?: boolean;
}

export const ROW_HEIGHT = 24;
export const NOTHING: RowContent = { kind: 'nothing' };
