// A table of any length: only the rows in sight exist. Sorts by its columns, is walked with the keyboard,
// and can be saved as CSV. Rows come as an array; what has to be fetched page by page is a time graph or
// the events table.
import { useId, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { useElementSize } from '../element-size';
import { SaveButtons } from '../save-buttons';
import { saveText } from '../save-file';
import { csvOf, orderedRows, type Order, type ValueColumn } from './table-rows';

export interface DataColumn<R> extends ValueColumn<R> {
  /** Of the width that is left, relative to the other columns' shares; or fixed, in pixels. */
  grow?: number;
  width?: number;
  align?: 'right';
  cell?: (row: R) => ReactNode;
}

interface DataTableProps<R> {
  name: string;
  rows: readonly R[];
  columns: readonly DataColumn<R>[];
  keyOf: (row: R) => string;
  firstOrder?: Order;
  selected?: string | null;
  onSelect?: (row: R) => void;
  /** File name for CSV; without it there is no button. */
  saveAs?: string;
  heading?: ReactNode;
  empty?: string;
}

const ROW = 26;
const HEAD = 28;

export function DataTable<R>(props: DataTableProps<R>) {
  const { rows, columns, keyOf, onSelect } = props;
  const element = useRef<HTMLDivElement>(null);
  const { height } = useElementSize(element);
  const [scrollTop, setScrollTop] = useState(0);
  const [order, setOrder] = useState<Order | null>(props.firstOrder ?? null);
  const identity = useId();
  const ordered = useMemo(() => orderedRows(rows, columns, order), [rows, columns, order]);
  const template = columns
    .map((column) => (column.width ? `${column.width}px` : `minmax(80px, ${column.grow ?? 1}fr)`))
    .join(' ');
  const first = Math.max(0, Math.floor(scrollTop / ROW) - 4);
  const end = Math.min(ordered.length, Math.ceil((scrollTop + Math.max(height, ROW)) / ROW) + 4);
  const selectedIndex = ordered.findIndex((row) => keyOf(row) === props.selected);

  const sortBy = (column: DataColumn<R>) => {
    const numeric = ordered.length > 0 && typeof column.value(ordered[0]!) === 'number';
    const firstDirection = numeric ? 'desc' : 'asc';
    setOrder((old) =>
      old?.column === column.key
        ? { column: column.key, direction: old.direction === 'asc' ? 'desc' : 'asc' }
        : { column: column.key, direction: firstDirection },
    );
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[event.key];
    if (step === undefined || !onSelect || ordered.length === 0) return;
    event.preventDefault();
    const next = Math.min(ordered.length - 1, Math.max(0, selectedIndex + step));
    onSelect(ordered[next]!);
    const present = element.current;
    if (!present) return;
    if (next * ROW < present.scrollTop) present.scrollTop = next * ROW;
    const bottom = (next + 1) * ROW + HEAD;
    if (bottom > present.scrollTop + height) present.scrollTop = bottom - height;
  };

  return (
    <section className="data-table-box">
      {(props.heading || props.saveAs) && (
        <div className="data-table-bar">
          <div>{props.heading}</div>
          {props.saveAs && (
            <SaveButtons
              what={props.name.toLowerCase()}
              savers={{ csv: () => saveText(`${props.saveAs}.csv`, 'text/csv', csvOf(ordered, columns)) }}
            />
          )}
        </div>
      )}
      <div
        ref={element}
        className="data-table"
        role="grid"
        aria-label={props.name}
        aria-rowcount={ordered.length + 1}
        aria-activedescendant={
          selectedIndex >= first && selectedIndex < end ? `${identity}-${selectedIndex}` : undefined
        }
        tabIndex={0}
        onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
        onKeyDown={onKeyDown}
      >
        <div className="data-table-head" role="row" style={{ gridTemplateColumns: template }}>
          {columns.map((column) => {
            const direction = order?.column === column.key ? order.direction : null;
            return (
              <div
                key={column.key}
                role="columnheader"
                aria-sort={
                  direction === 'asc' ? 'ascending' : direction === 'desc' ? 'descending' : undefined
                }
                className={column.align === 'right' ? 'is-right' : ''}
              >
                <button type="button" className="sort-button" onClick={() => sortBy(column)}>
                  {column.title}
                  <span aria-hidden="true">
                    {direction === 'asc' ? ' ▲' : direction === 'desc' ? ' ▼' : ''}
                  </span>
                </button>
              </div>
            );
          })}
        </div>
        <div className="data-table-space" role="rowgroup" style={{ height: ordered.length * ROW }}>
          {ordered.slice(first, end).map((row, offset) => {
            const index = first + offset;
            return (
              <div
                key={keyOf(row)}
                id={`${identity}-${index}`}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={onSelect ? index === selectedIndex : undefined}
                className={`data-table-row ${index === selectedIndex ? 'is-selected' : ''} ${
                  onSelect ? 'is-selectable' : ''
                }`}
                style={{ top: index * ROW, gridTemplateColumns: template }}
                onClick={() => onSelect?.(row)}
              >
                {columns.map((column) => (
                  <div
                    key={column.key}
                    role="gridcell"
                    className={column.align === 'right' ? 'is-right' : ''}
                  >
                    {column.cell ? column.cell(row) : column.value(row)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
        {ordered.length === 0 && <p className="data-table-empty">{props.empty ?? 'Nothing to show'}</p>}
      </div>
    </section>
  );
}

/** A cell with a bar behind its number: how large it is of the largest. */
export function BarCell({ share, children }: { share: number; children: ReactNode }) {
  return (
    <span className="bar-cell">
      {share >= 0.01 && <span className="bar-cell-fill" style={{ width: `${Math.min(1, share) * 100}%` }} />}
      <span className="bar-cell-text">{children}</span>
    </span>
  );
}
