// The columns of a time graph's rows as elements: only the rows in sight, memoised, because the pointer
// moves far more often than they change.
import { memo } from 'react';
import { heightOf, topOf, type RowLayout } from '../../draw/row-layout';
import { canSelect, type GraphColumn, type GraphRow } from './graph-types';

interface GraphRowsProps<R extends GraphRow> {
  rows: readonly R[];
  columns: readonly GraphColumn<R>[];
  columnsWidth: number;
  layout: RowLayout;
  first: number;
  end: number;
  selectedIndex: number;
  hoveredIndex: number | null;
  identity: string;
  onSelect: (index: number) => void;
}

function GraphRowsOnce<R extends GraphRow>(props: GraphRowsProps<R>) {
  const shown = [];
  for (let index = props.first; index < props.end; index += 1) {
    const row = props.rows[index];
    if (!row) break;
    const classes = [
      'time-graph-row',
      row.heading ? 'is-heading' : '',
      index === props.selectedIndex ? 'is-selected' : '',
      index === props.hoveredIndex ? 'is-hovered' : '',
    ];
    shown.push(
      <div
        key={row.key}
        id={`${props.identity}-${index}`}
        role="row"
        aria-rowindex={index + 2}
        aria-selected={canSelect(row) ? index === props.selectedIndex : undefined}
        className={classes.filter(Boolean).join(' ')}
        style={{ top: topOf(props.layout, index), height: heightOf(props.layout, index) }}
        onClick={() => props.onSelect(index)}
      >
        {row.heading ? (
          <div role="gridcell" className="time-graph-cell is-wide" style={{ width: props.columnsWidth }}>
            {row.label}
          </div>
        ) : (
          props.columns.map((column) => (
            <div
              key={column.key}
              role="gridcell"
              className={`time-graph-cell ${column.align === 'right' ? 'is-right' : ''}`}
              style={{ width: column.width }}
            >
              {column.cell(row, index)}
            </div>
          ))
        )}
      </div>,
    );
  }
  return <>{shown}</>;
}

export const GraphRows = memo(GraphRowsOnce) as typeof GraphRowsOnce;
