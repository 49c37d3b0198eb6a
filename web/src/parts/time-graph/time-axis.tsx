// The axis above a time graph: tick marks as text that can be read and copied. Dragging on it zooms into the
// stretch that was dragged over, the wheel zooms around the pointer. Pure layout comes from draw/ticks.ts.
import { useRef, useState, type PointerEvent } from 'react';
import { ticksOf } from '../../draw/ticks';
import { fitInto, timeOfX, zoom, type Bends, type TimeRange } from '../../draw/time-scale';
import { useWheel } from './wheel';

interface TimeAxisProps {
  range: TimeRange;
  bounds: TimeRange;
  width: number;
  onRange: (range: TimeRange) => void;
  bends: Bends | null;
  /** Where the axis has no times: what a mark says. */
  wordMark?: (position: number) => string;
}

export function TimeAxis({ range, bounds, width, onRange, bends, wordMark }: TimeAxisProps) {
  const element = useRef<HTMLDivElement>(null);
  const [rubber, setRubber] = useState<{ from: number; to: number } | null>(null);
  const scale = { range, width: Math.max(1, width), bends };
  const ticks = ticksOf(scale);
  const xOf = (event: PointerEvent) => event.clientX - (element.current?.getBoundingClientRect().left ?? 0);

  useWheel(element, (event, x) => {
    if (event.deltaY !== 0) {
      onRange(zoom(range, Math.exp(event.deltaY * 0.002), timeOfX(scale, x), bounds));
    }
    return true;
  });

  return (
    <div
      ref={element}
      className="time-axis"
      aria-hidden="true"
      title="Drag to zoom into a stretch, turn the wheel to zoom, double-click for all"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setRubber({ from: xOf(event), to: xOf(event) });
      }}
      onPointerMove={(event) => {
        if (rubber) setRubber({ from: rubber.from, to: xOf(event) });
      }}
      onPointerUp={() => {
        if (rubber && Math.abs(rubber.to - rubber.from) > 4) {
          const from = timeOfX(scale, Math.min(rubber.from, rubber.to));
          const to = timeOfX(scale, Math.max(rubber.from, rubber.to));
          onRange(fitInto({ begin: from, end: to }, bounds));
        }
        setRubber(null);
      }}
      onPointerCancel={() => setRubber(null)}
      onDoubleClick={() => onRange(bounds)}
    >
      {ticks.base !== null && !wordMark && <span className="time-axis-base">{ticks.baseLabel}</span>}
      {ticks.marks.map((tick) =>
        ticks.base !== null && !wordMark && tick.x < 120 ? null : (
          <span key={tick.time} className="time-axis-tick" style={{ transform: `translateX(${tick.x}px)` }}>
            {wordMark ? wordMark(tick.time) : tick.label}
          </span>
        ),
      )}
      {rubber && (
        <span
          className="time-axis-rubber"
          style={{
            left: Math.min(rubber.from, rubber.to),
            width: Math.abs(rubber.to - rubber.from),
          }}
        />
      )}
    </div>
  );
}
