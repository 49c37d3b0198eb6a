// Points over two axes of plain numbers, as SVG. Walked with the arrow keys, from left to right; Enter or a click selects.
// What a point means, the caller says; lines between points and the like are drawn by the caller, too, on the same
// scales.
import { useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { marksOf, pixelOf, scaleOf, type PlainScale } from '../draw/plain-scale';
import { useElementSize } from './element-size';
import { SaveButtons } from './save-buttons';
import { saveSvgOf } from './save-element';
import { Tooltip } from './tooltip';

export interface ScatterPoint {
  key: string;
  x: number;
  y: number;
  /** Half the lengths of bars through the point; none where null. */
  xHalf?: number | null;
  yHalf?: number | null;
  className?: string;
  shape?: 'dot' | 'cross';
  colour?: string;
}

export interface ScatterAxis {
  title: string;
  word: (number: number) => string;
  /** What has to lie on the axis besides the points. */
  holds?: readonly number[];
}

interface ScatterPlotProps {
  name: string;
  points: readonly ScatterPoint[];
  x: ScatterAxis;
  y: ScatterAxis;
  height: number;
  saveAs: string;
  tip: (key: string) => ReactNode;
  /** In a line, for those who have it read out. */
  words: (key: string) => string;
  onSelect: (key: string) => void;
  /** Drawn below the points. */
  behind?: (x: PlainScale, y: PlainScale) => ReactNode;
}

const LEFT = 76;
const RIGHT = 18;
const TOP = 12;
const BOTTOM = 40;

export function ScatterPlot(props: ScatterPlotProps) {
  const { points, onSelect, height } = props;
  const element = useRef<HTMLDivElement>(null);
  const { width } = useElementSize(element);
  const [hover, setHover] = useState<{ key: string; x: number; y: number } | null>(null);
  const walk = useMemo(() => [...points].sort((one, other) => one.x - other.x || one.y - other.y), [points]);
  const x = scaleOf([...endsOf(points, 'x', 'xHalf'), ...(props.x.holds ?? [])], LEFT, width - RIGHT, 0.03);
  const y = scaleOf([...endsOf(points, 'y', 'yHalf'), ...(props.y.holds ?? [])], height - BOTTOM, TOP);
  const at = hover && points.find(({ key }) => key === hover.key);

  const show = (point: ScatterPoint | undefined) => {
    const box = element.current?.getBoundingClientRect();
    if (point && box) {
      setHover({ key: point.key, x: box.left + pixelOf(x, point.x), y: box.top + pixelOf(y, point.y) });
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const index = walk.findIndex(({ key }) => key === hover?.key);
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (step !== undefined) show(walk[Math.min(walk.length - 1, Math.max(0, index + step))]);
    else if (event.key === 'Enter' && hover) onSelect(hover.key);
    else if (event.key === 'Escape') setHover(null);
    else return;
    event.preventDefault();
  };

  return (
    <div className="scatter-plot">
      <div
        ref={element}
        className="scatter-plot-picture"
        role="listbox"
        aria-label={props.name}
        aria-activedescendant={at ? `${props.saveAs}-point` : undefined}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onBlur={() => setHover(null)}
        style={{ height }}
      >
        <div
          id={`${props.saveAs}-point`}
          role="option"
          aria-selected={at !== null && at !== undefined}
          className="visually-hidden"
        >
          {at ? props.words(at.key) : `${points.length} points; arrow keys walk along them`}
        </div>
        {width > 0 && (
          <svg width={width} height={height} aria-hidden="true" onPointerLeave={() => setHover(null)}>
            <Axes x={x} y={y} xAxis={props.x} yAxis={props.y} />
            {props.behind?.(x, y)}
            {points.map((point) => (
              <Point key={point.key} point={point} x={x} y={y} isAt={point.key === hover?.key} />
            ))}
            {points.map((point) => (
              <circle
                key={point.key}
                className="scatter-reach"
                cx={pixelOf(x, point.x)}
                cy={pixelOf(y, point.y)}
                r={9}
                onPointerMove={(event) => setHover({ key: point.key, x: event.clientX, y: event.clientY })}
                onClick={() => onSelect(point.key)}
              />
            ))}
          </svg>
        )}
      </div>
      <SaveButtons
        what={props.name.toLowerCase()}
        savers={{ svg: () => saveSvgOf(element.current, props.saveAs) }}
      />
      {hover && at && (
        <Tooltip x={hover.x} y={hover.y}>
          {props.tip(at.key)}
        </Tooltip>
      )}
    </div>
  );
}

function endsOf(points: readonly ScatterPoint[], of: 'x' | 'y', half: 'xHalf' | 'yHalf'): number[] {
  return points.flatMap((point) => [point[of] - (point[half] ?? 0), point[of] + (point[half] ?? 0)]);
}

interface AxesProps {
  x: PlainScale;
  y: PlainScale;
  xAxis: ScatterAxis;
  yAxis: ScatterAxis;
}

function Axes({ x, y, xAxis, yAxis }: AxesProps) {
  return (
    <g className="scatter-axes">
      {marksOf(x, Math.max(2, (x.to - x.from) / 110)).map((number) => (
        <g key={number}>
          <line x1={pixelOf(x, number)} x2={pixelOf(x, number)} y1={y.to} y2={y.from} />
          <text x={pixelOf(x, number)} y={y.from + 15} textAnchor="middle">
            {xAxis.word(number)}
          </text>
        </g>
      ))}
      {marksOf(y, Math.max(2, (y.from - y.to) / 45)).map((number) => (
        <g key={number}>
          <line x1={x.from} x2={x.to} y1={pixelOf(y, number)} y2={pixelOf(y, number)} />
          <text x={x.from - 7} y={pixelOf(y, number)} textAnchor="end" dominantBaseline="central">
            {yAxis.word(number)}
          </text>
        </g>
      ))}
      <text x={(x.from + x.to) / 2} y={y.from + 33} textAnchor="middle" className="scatter-title">
        {xAxis.title}
      </text>
      <text
        transform={`translate(13 ${(y.from + y.to) / 2}) rotate(-90)`}
        textAnchor="middle"
        className="scatter-title"
      >
        {yAxis.title}
      </text>
    </g>
  );
}

interface PointProps {
  point: ScatterPoint;
  x: PlainScale;
  y: PlainScale;
  isAt: boolean;
}

function Point({ point, x, y, isAt }: PointProps) {
  const [left, top] = [pixelOf(x, point.x), pixelOf(y, point.y)];
  const { xHalf, yHalf } = point;
  return (
    <g className={`scatter-point ${point.className ?? ''} ${isAt ? 'is-at' : ''}`}>
      {xHalf && <line x1={pixelOf(x, point.x - xHalf)} x2={pixelOf(x, point.x + xHalf)} y1={top} y2={top} />}
      {yHalf && (
        <line x1={left} x2={left} y1={pixelOf(y, point.y - yHalf)} y2={pixelOf(y, point.y + yHalf)} />
      )}
      {point.shape === 'cross' ? (
        <path d={`M${left - 4} ${top - 4}l8 8m0 -8l-8 8`} />
      ) : (
        <circle cx={left} cy={top} r={4.5} style={point.colour ? { fill: point.colour } : undefined} />
      )}
    </g>
  );
}
