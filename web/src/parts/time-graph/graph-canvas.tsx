// The two canvases of a time graph and what the mouse does on them: drag pans, Shift and drag zooms into
// the stretch, Ctrl and wheel zooms (the wheel alone where there is nothing to scroll), click selects.
// Painting itself is paint-graph.ts.
import { useEffect, useLayoutEffect, useRef, useState, type PointerEvent } from 'react';
import { PANEL_COLOURS } from '../../draw/colours';
import { runAt } from '../../draw/pixel-rows';
import { rowAt, totalHeight, type RowLayout } from '../../draw/row-layout';
import {
  fitInto,
  pan,
  timeOfX,
  withMargin,
  zoom,
  type Bends,
  type TimeRange,
  type TimeScale,
} from '../../draw/time-scale';
import { styleColour, useTheme } from '../theme';
import type { GraphArrows, GraphMark, RowContent } from './graph-types';
import { paintOverlay, paintStates } from './paint-graph';
import { useWheel } from './wheel';

export interface Hover {
  x: number;
  row: number | null;
  time: number;
  pageX: number;
  pageY: number;
  dragging: boolean;
}

interface GraphCanvasProps {
  left: number;
  width: number;
  height: number;
  scrollTop: number;
  layout: RowLayout;
  content: (row: number) => RowContent;
  range: TimeRange;
  bends: Bends | null;
  bounds: TimeRange;
  onRange: (range: TimeRange) => void;
  at: number | null;
  hover: Hover | null;
  onHover: (hover: Hover | null) => void;
  arrows: GraphArrows | null;
  marks: readonly GraphMark[];
  onClick: (row: number | null, time: number) => void;
}

interface Drag {
  startX: number;
  startScale: TimeScale;
  rubber: boolean;
  moved: boolean;
}

export function GraphCanvas(props: GraphCanvasProps) {
  const { width, height, range, bends, bounds, onRange, layout, scrollTop, content } = props;
  const theme = useTheme();
  const box = useRef<HTMLDivElement>(null);
  const states = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const drag = useRef<Drag | null>(null);
  const [rubber, setRubber] = useState<{ from: number; to: number } | null>(null);
  const [tooMany, setTooMany] = useState(false);
  const density = Math.min(2, window.devicePixelRatio || 1);
  const scale = { range, width: Math.max(1, width), bends };
  const picture = {
    range,
    bends,
    layout,
    scrollTop,
    width,
    height,
    density,
    content,
    background: PANEL_COLOURS[theme],
  };

  useLayoutEffect(() => {
    const context = states.current?.getContext('2d');
    if (!context || width < 1 || height < 1) return;
    resize(context.canvas, width, height, density);
    paintStates(context, picture);
  }, [range, bends, layout, scrollTop, width, height, density, content, theme]);

  useEffect(() => {
    const context = overlay.current?.getContext('2d');
    if (!context || width < 1 || height < 1) return;
    resize(context.canvas, width, height, density);
    const crowded = paintOverlay(context, {
      ...picture,
      arrows: props.arrows,
      marks: props.marks,
      at: props.at,
      hoverX: props.hover && !props.hover.dragging ? props.hover.x : null,
      rubber,
      colours: {
        grid: styleColour('--graph-grid'),
        arrow: styleColour('--text'),
        arrowHalo: styleColour('--panel'),
        cursor: styleColour('--accent'),
        hover: styleColour('--graph-hover'),
        mark: styleColour('--graph-mark'),
        markEdge: styleColour('--graph-mark-edge'),
        rubber: styleColour('--graph-rubber'),
        fold: styleColour('--page'),
        foldEdge: styleColour('--line-strong'),
        foldText: styleColour('--muted'),
      },
    });
    setTooMany(crowded);
  });

  useWheel(box, (event, x) => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (sideways || event.shiftKey) {
      const distance = sideways ? event.deltaX : event.deltaY;
      onRange(pan(range, distance / Math.max(200, width), bounds));
      return true;
    }
    const scrolls = totalHeight(layout) > height + 1;
    if (!event.ctrlKey && !event.metaKey && scrolls) return false;
    onRange(zoom(range, Math.exp(event.deltaY * 0.002), timeOfX(scale, x), bounds));
    return true;
  });

  const hoverOf = (event: PointerEvent, dragging: boolean): Hover => {
    const area = box.current!.getBoundingClientRect();
    const x = Math.min(Math.max(event.clientX - area.left, 0), width);
    return {
      x,
      row: rowAt(layout, event.clientY - area.top + scrollTop),
      time: timeOfX(scale, x),
      pageX: event.clientX,
      pageY: event.clientY,
      dragging,
    };
  };

  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const x = hoverOf(event, false).x;
    drag.current = { startX: x, startScale: scale, rubber: event.shiftKey, moved: false };
  };

  const onPointerMove = (event: PointerEvent) => {
    const present = drag.current;
    const hover = hoverOf(event, present?.moved ?? false);
    if (present) {
      const distance = hover.x - present.startX;
      if (Math.abs(distance) > 3) present.moved = true;
      if (present.moved && present.rubber) setRubber({ from: present.startX, to: hover.x });
      else if (present.moved) {
        // What was under the pointer stays there.
        const { startScale, startX } = present;
        const shift = timeOfX(startScale, hover.x) - timeOfX(startScale, startX);
        const { begin, end } = startScale.range;
        onRange(fitInto({ begin: begin - shift, end: end - shift }, bounds));
      }
    }
    props.onHover(hover);
  };

  const onPointerUp = (event: PointerEvent) => {
    const present = drag.current;
    drag.current = null;
    const hover = hoverOf(event, false);
    if (present && !present.moved) props.onClick(hover.row, Math.round(hover.time));
    if (present?.rubber && present.moved) {
      const from = timeOfX(scale, Math.min(present.startX, hover.x));
      const to = timeOfX(scale, Math.max(present.startX, hover.x));
      onRange(fitInto({ begin: from, end: to }, bounds));
    }
    setRubber(null);
    props.onHover(hover);
  };

  const zoomOntoState = (event: { clientX: number; clientY: number }) => {
    const area = box.current!.getBoundingClientRect();
    const time = timeOfX(scale, event.clientX - area.left);
    const row = rowAt(layout, event.clientY - area.top + scrollTop);
    const shown = row === null ? null : content(row);
    const run = shown?.kind === 'runs' ? runAt(shown.runs, time) : null;
    onRange(run ? withMargin(run, 0.15, bounds) : zoom(range, 0.25, time, bounds));
  };

  return (
    <div
      ref={box}
      className={`time-graph-canvas ${rubber ? 'is-selecting' : ''}`}
      style={{ marginLeft: props.left, width, height }}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerLeave={() => {
        if (!drag.current) props.onHover(null);
      }}
      onPointerCancel={() => {
        drag.current = null;
        setRubber(null);
      }}
      onDoubleClick={zoomOntoState}
    >
      <canvas ref={states} aria-hidden="true" />
      <canvas ref={overlay} aria-hidden="true" />
      {(tooMany || props.arrows?.incomplete) && (
        <span className="time-graph-note">
          {tooMany ? 'Too many arrows to follow: zoom in to see them' : 'Zoom in to see all arrows'}
        </span>
      )}
    </div>
  );
}

function resize(canvas: HTMLCanvasElement, width: number, height: number, density: number): void {
  const wide = Math.max(1, Math.round(width * density));
  const tall = Math.max(1, Math.round(height * density));
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== tall) canvas.height = tall;
}
