// The time graph: rows with columns on the left and a time line on the right, scrolled together; only rows
// in sight exist. Rows, contents and arrows come from the caller. It is a grid for the keyboard and for
// screen readers; the canvases repeat in pixels what rows and details say in words.
import {
  useCallback,
  useEffect,
  useId,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type ReactNode,
  type Ref,
} from 'react';
import { layoutRows, rowsInSight, scrollToRow, totalHeight, type RowSpan } from '../../draw/row-layout';
import type { Annotation } from '../../draw/annotations';
import type { Bends, TimeRange } from '../../draw/time-scale';
import { useElementSize } from '../element-size';
import { Tooltip } from '../tooltip';
import { AnnotationLane } from './annotation-lane';
import { GraphCanvas, type Hover } from './graph-canvas';
import { GraphRows } from './graph-rows';
import { useGraphKeys } from './graph-keys';
import {
  ROW_HEIGHT,
  canSelect,
  type GraphArrows,
  type GraphColumn,
  type GraphMark,
  type GraphRow,
  type RowContent,
} from './graph-types';
import { TimeAxis } from './time-axis';

export interface TimeGraphHandle {
  /** What is in sight, for export. */
  inSight: () => { rows: RowSpan; width: number };
}

interface TimeGraphProps<R extends GraphRow> {
  name: string;
  rows: readonly R[];
  columns: readonly GraphColumn<R>[];
  content: (index: number) => RowContent;
  range: TimeRange;
  bounds: TimeRange;
  onRange: (range: TimeRange) => void;
  at?: number | null;
  onAt?: (time: number) => void;
  /** A click on the time line, besides selecting the row and the time. */
  onPick?: (row: R, index: number, time: number) => void;
  selected?: string | null;
  onSelect?: (row: R, index: number) => void;
  onOpen?: (row: R, index: number) => void;
  /** The space bar on the selected row. */
  onMark?: (row: R, index: number) => void;
  arrows?: GraphArrows | null;
  marks?: readonly GraphMark[];
  /** Where time is folded. */
  bends?: Bends | null;
  /** Pointed out along the axis. */
  annotations?: readonly Annotation[];
  /** Where the axis has no times: what a mark of it says. */
  wordMark?: (position: number) => string;
  tooltip?: (row: R, index: number, time: number) => ReactNode;
  /** Told when other rows come into sight, or the number of pixels changes: what to ask the server for. */
  onSight?: (rows: RowSpan, pixels: number) => void;
  handle?: Ref<TimeGraphHandle>;
}

const HEAD_HEIGHT = 28;
const NO_MARKS: readonly GraphMark[] = [];

export function TimeGraph<R extends GraphRow>(props: TimeGraphProps<R>) {
  const { rows, columns, range, bounds, onRange, onSight, selected = null, onSelect } = props;
  const element = useRef<HTMLDivElement>(null);
  const size = useElementSize(element);
  const [scrollTop, setScrollTop] = useState(0);
  const [hover, setHover] = useState<Hover | null>(null);
  const [pointedAt, setPointedAt] = useState<Annotation | null>(null);
  const identity = useId();

  const layout = useMemo(() => layoutRows(rows.map((row) => row.height ?? ROW_HEIGHT)), [rows]);
  const columnsWidth = columns.reduce((sum, column) => sum + column.width, 0);
  const canvasWidth = Math.max(0, size.width - columnsWidth);
  const canvasHeight = Math.max(0, size.height - HEAD_HEIGHT);
  const sight = rowsInSight(layout, scrollTop, canvasHeight, 4);
  const pixels = Math.max(1, Math.round(canvasWidth * Math.min(2, window.devicePixelRatio || 1)));

  useEffect(() => {
    if (canvasWidth > 1 && canvasHeight > 1) onSight?.({ first: sight.first, end: sight.end }, pixels);
  }, [onSight, sight.first, sight.end, pixels, canvasWidth, canvasHeight]);

  const selectedIndex = useMemo(
    () => (selected === null ? -1 : rows.findIndex((row) => row.key === selected)),
    [rows, selected],
  );

  // A row that becomes selected elsewhere (a link, the keyboard) is brought into sight.
  useLayoutEffect(() => {
    const present = element.current;
    if (!present || selectedIndex < 0 || canvasHeight < 10) return;
    const wanted = scrollToRow(layout, selectedIndex, present.scrollTop, canvasHeight);
    if (wanted !== present.scrollTop) present.scrollTop = wanted;
    // Only when the selection changes: else rows could not be scrolled away from it.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [selected, selectedIndex >= 0, canvasHeight < 10]);

  useImperativeHandle(
    props.handle,
    () => ({
      inSight: () => ({
        rows: rowsInSight(layout, scrollTop, canvasHeight),
        width: canvasWidth,
      }),
    }),
    [layout, scrollTop, canvasHeight, canvasWidth],
  );

  const select = useCallback(
    (index: number) => {
      const row = rows[index];
      if (canSelect(row)) onSelect?.(row, index);
    },
    [rows, onSelect],
  );
  const onKeyDown = useGraphKeys({
    range,
    bounds,
    onRange,
    at: props.at ?? null,
    rowCount: rows.length,
    selectedIndex,
    canSelect: (index) => canSelect(rows[index]),
    onSelect: select,
    onOpen: (index) => {
      const row = rows[index];
      if (row && !row.heading) props.onOpen?.(row, index);
    },
    onMark: (index) => {
      const row = rows[index];
      if (row && !row.heading) props.onMark?.(row, index);
    },
  });

  const hoveredRow = hover?.row ?? null;
  const marks = useMemo(
    () => [...(props.marks ?? NO_MARKS), ...(pointedAt ? [pointedAt] : [])],
    [props.marks, pointedAt],
  );
  const shownTip =
    hover && hover.row !== null && !hover.dragging && props.tooltip
      ? props.tooltip(rows[hover.row]!, hover.row, hover.time)
      : null;

  return (
    <div
      ref={element}
      className="time-graph"
      role="grid"
      aria-label={props.name}
      aria-rowcount={rows.length + 1}
      aria-activedescendant={
        selectedIndex >= sight.first && selectedIndex < sight.end ? `${identity}-${selectedIndex}` : undefined
      }
      tabIndex={0}
      onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <div className="time-graph-head" role="row" aria-rowindex={1}>
        {columns.map((column) => (
          <ColumnHead key={column.key} column={column} />
        ))}
        <div className="time-graph-axis" role="columnheader">
          <span className="visually-hidden">Time line</span>
          <TimeAxis
            range={range}
            bounds={bounds}
            width={canvasWidth}
            onRange={onRange}
            wordMark={props.wordMark}
            bends={props.bends ?? null}
          />
          {props.annotations && canvasWidth > 1 && (
            <AnnotationLane
              annotations={props.annotations}
              scale={{ range, width: canvasWidth, bends: props.bends ?? null }}
              onPoint={setPointedAt}
            />
          )}
        </div>
      </div>
      <div
        className="time-graph-space"
        role="rowgroup"
        style={{ height: Math.max(totalHeight(layout), canvasHeight) }}
      >
        <GraphRows
          rows={rows}
          columns={columns}
          columnsWidth={columnsWidth}
          layout={layout}
          first={sight.first}
          end={sight.end}
          selectedIndex={selectedIndex}
          hoveredIndex={hoveredRow}
          identity={identity}
          onSelect={select}
        />
        <GraphCanvas
          left={columnsWidth}
          width={canvasWidth}
          height={canvasHeight}
          scrollTop={scrollTop}
          layout={layout}
          content={props.content}
          range={range}
          bends={props.bends ?? null}
          bounds={bounds}
          onRange={onRange}
          at={props.at ?? null}
          hover={hover}
          onHover={setHover}
          arrows={props.arrows ?? null}
          marks={marks}
          onClick={(row, time) => {
            if (row !== null) select(row);
            props.onAt?.(time);
            const picked = row === null ? undefined : rows[row];
            if (row !== null && picked && !picked.heading) props.onPick?.(picked, row, time);
          }}
        />
      </div>
      {shownTip && hover && (
        <Tooltip x={hover.pageX} y={hover.pageY}>
          {shownTip}
        </Tooltip>
      )}
    </div>
  );
}

function ColumnHead<R extends GraphRow>({ column }: { column: GraphColumn<R> }) {
  const sorted = column.sorted;
  const ariaSort = sorted === 'asc' ? 'ascending' : sorted === 'desc' ? 'descending' : undefined;
  return (
    <div
      role="columnheader"
      aria-sort={ariaSort}
      className={`time-graph-column ${column.align === 'right' ? 'is-right' : ''}`}
      style={{ width: column.width }}
    >
      {column.onSort ? (
        <button type="button" className="sort-button" onClick={column.onSort}>
          {column.title}
          <span aria-hidden="true">{sorted === 'asc' ? ' ▲' : sorted === 'desc' ? ' ▼' : ''}</span>
        </button>
      ) : column.titleIsHidden ? (
        <span className="visually-hidden">{column.title}</span>
      ) : (
        column.title
      )}
    </div>
  );
}
