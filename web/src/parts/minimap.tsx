// The whole recording in a strip: how busy its processors were, where findings lie, and which part the views
// show. Drag to choose a range, drag the shown part to move it, turn the wheel to zoom; also a slider for
// the keyboard.
import { useEffect, useRef, useState, type KeyboardEvent, type PointerEvent } from 'react';
import { fitInto, pan, sameRange, span, timeOfX, xOfTime, zoom, type TimeRange } from '../draw/time-scale';
import { ticksOf } from '../draw/ticks';
import { wordDuration, wordTime } from '../model/wording';
import { useElementSize } from './element-size';
import { styleColour, useTheme } from './theme';
import { rangeAfterKey } from './time-graph/graph-keys';
import { useWheel } from './time-graph/wheel';

interface MinimapProps {
  bounds: TimeRange;
  range: TimeRange;
  onRange: (range: TimeRange) => void;
  at: number | null;
  /** Shares from 0 to 1 over the whole recording. */
  busy: readonly (number | null)[];
  /** Stretches that are pointed out along the upper edge. */
  marks: readonly TimeRange[];
}

type Drag = { kind: 'choose'; from: number } | { kind: 'move'; from: number; range: TimeRange };

export function Minimap({ bounds, range, onRange, at, busy, marks }: MinimapProps) {
  const element = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const { width, height } = useElementSize(element);
  const drag = useRef<Drag | null>(null);
  const [choosing, setChoosing] = useState<TimeRange | null>(null);
  const scale = { range: bounds, width: Math.max(1, width) };
  const all = sameRange(range, bounds);
  const shown = choosing ?? range;

  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context || width < 1) return;
    const density = Math.min(2, window.devicePixelRatio || 1);
    context.canvas.width = Math.round(width * density);
    context.canvas.height = Math.round(height * density);
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    context.fillStyle = styleColour('--minimap-busy');
    const step = width / Math.max(1, busy.length);
    const room = height - 16;
    busy.forEach((known, index) => {
      const share = known ?? 0;
      const tall = share > 0 ? Math.max(1, share * room) : 0;
      context.fillRect(index * step, height - tall, step + 0.5, tall);
    });
    context.font = '10px system-ui, sans-serif';
    context.textBaseline = 'top';
    for (const tick of ticksOf(scale, 120).marks) {
      context.fillStyle = styleColour('--graph-grid');
      context.fillRect(Math.round(tick.x), 0, 1, height);
      context.fillStyle = styleColour('--muted');
      context.fillText(tick.label, tick.x + 4, 3);
    }
    context.fillStyle = styleColour('--bad');
    for (const mark of marks) {
      const from = xOfTime(scale, mark.begin);
      context.fillRect(from, 0, Math.max(2, xOfTime(scale, mark.end) - from), 2);
    }
    if (at !== null) {
      context.fillStyle = styleColour('--accent');
      context.fillRect(Math.round(xOfTime(scale, at)) - 0.5, 0, 2, height);
    }
  }, [width, height, busy, marks, theme, at, bounds.begin, bounds.end]);

  useWheel(element, (event, x) => {
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      onRange(pan(range, event.deltaX / 400, bounds));
    } else {
      onRange(zoom(range, Math.exp(event.deltaY * 0.002), timeOfX(scale, x), bounds));
    }
    return true;
  });

  const timeOf = (event: PointerEvent) => {
    const area = element.current!.getBoundingClientRect();
    return timeOfX(scale, Math.min(Math.max(event.clientX - area.left, 0), scale.width));
  };
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const time = timeOf(event);
    const inside = !all && time > range.begin && time < range.end;
    drag.current = inside ? { kind: 'move', from: time, range } : { kind: 'choose', from: time };
  };
  const onPointerMove = (event: PointerEvent) => {
    const present = drag.current;
    if (!present) return;
    const time = timeOf(event);
    if (present.kind === 'move') {
      const shift = time - present.from;
      onRange(fitInto({ begin: present.range.begin + shift, end: present.range.end + shift }, bounds));
    } else {
      setChoosing({ begin: Math.min(present.from, time), end: Math.max(present.from, time) });
    }
  };
  const onPointerUp = () => {
    if (choosing && span(choosing) / span(bounds) > 3 / scale.width) onRange(fitInto(choosing, bounds));
    drag.current = null;
    setChoosing(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const moved = rangeAfterKey(event.key, range, bounds, at);
    if (!moved || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    onRange(moved);
  };

  const left = xOfTime(scale, shown.begin);
  const right = xOfTime(scale, shown.end);
  return (
    <div
      ref={element}
      className="minimap"
      role="slider"
      tabIndex={0}
      aria-label="Time range that is shown"
      aria-valuemin={0}
      aria-valuemax={Math.round(span(bounds))}
      aria-valuenow={Math.round(range.begin)}
      aria-valuetext={
        all
          ? `all ${wordDuration(span(bounds))}`
          : `${wordDuration(span(range))} from ${wordTime(range.begin, span(range) / 100)}`
      }
      title="Drag to choose a range, drag the shown part to move it, wheel to zoom, double-click for all"
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerCancel={() => {
        drag.current = null;
        setChoosing(null);
      }}
      onDoubleClick={() => onRange(bounds)}
      onKeyDown={onKeyDown}
    >
      <canvas ref={canvas} aria-hidden="true" />
      {(!all || choosing) && (
        <>
          <span className="minimap-shade" style={{ left: 0, width: Math.max(0, left) }} />
          <span className="minimap-shade" style={{ left: right, right: 0 }} />
          <span
            className="minimap-window"
            style={{ left: Math.min(left, width - 3), width: Math.max(3, right - left) }}
          />
        </>
      )}
    </div>
  );
}
