// Parallel coordinates: a line for each configuration, an axis for each parameter and objective. Dragging along an axis
// leaves those lines that cross the stretch; both ends of it can be moved with the arrow keys as well.
import { useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from 'react';
import { cssColour } from '../../draw/colours';
import { lineColour, shareOf } from '../../draw/heat-colours';
import { wordBrief, wordConfiguration, wordMean } from '../../model/exploration-words';
import type { Exploration, TriedConfiguration } from '../../model/interface';
import { wordCount } from '../../model/wording';
import { useElementSize } from '../../parts/element-size';
import { SaveButtons } from '../../parts/save-buttons';
import { saveSvgOf } from '../../parts/save-element';
import { useTheme } from '../../parts/theme';
import { Tooltip } from '../../parts/tooltip';
import type { Choice } from './choice';
import { brushed, moved, parallelAxes, type Brush, type ParallelAxis, type Stretch } from './parallel-axes';

interface ParallelCoordinatesProps {
  explored: Exploration;
  choice: Choice;
  brush: Brush;
  onBrush: (brush: Brush) => void;
  within: ReadonlySet<number>;
}

const HEIGHT = 300;
const TOP = 34;
const BOTTOM = 16;
const SIDE = 64;
/** How far from an axis a pointer still means it. */
const REACH = 14;
/** How wide a letter is, about. */
const LETTER = 8;
/** Nobody hits the very end of an axis. */
const NEAR_END = 0.03;
const ALL: Stretch = { from: 0, to: 1 };

const pixelOf = (at: number) => HEIGHT - BOTTOM - at * (HEIGHT - TOP - BOTTOM);
const placeOf = (pixel: number) => (HEIGHT - BOTTOM - pixel) / (HEIGHT - TOP - BOTTOM);

export function ParallelCoordinates(props: ParallelCoordinatesProps) {
  const { explored, choice, brush, onBrush, within } = props;
  const element = useRef<HTMLDivElement>(null);
  const { width } = useElementSize(element);
  const axes = useMemo(() => parallelAxes(explored), [explored]);
  const rows = explored.results.configurations;
  const xOf = (index: number) =>
    SIDE + (index * Math.max(0, width - 2 * SIDE)) / Math.max(1, axes.length - 1);
  const letters = Math.floor((xOf(1) - xOf(0) - 2 * REACH) / LETTER);
  return (
    <section className="panel" aria-label="Parallel coordinates">
      <div className="panel-head">
        <h2>Every configuration across parameters and objectives</h2>
        <span className="legend-and-saving">
          {Object.keys(brush).length > 0 && (
            <>
              <span className="muted" role="status">
                {wordCount(within.size)} of {wordCount(rows.length)} within the brush
              </span>
              <button type="button" className="quiet-button" onClick={() => onBrush({})}>
                Clear
              </button>
            </>
          )}
          <SaveButtons
            what="the parallel coordinates"
            savers={{ svg: () => saveSvgOf(element.current, `${explored.results.name}-parallel`) }}
          />
        </span>
      </div>
      <div ref={element} className="parallel">
        {width > 0 && (
          <svg width={width} height={HEIGHT} role="group" aria-label="Configurations as lines across axes">
            <Lines explored={explored} choice={choice} within={within} axes={axes} xOf={xOf} />
            {axes.map((axis, index) => (
              <Axis
                anchor={index === 0 ? 'start' : index === axes.length - 1 ? 'end' : 'middle'}
                key={axis.key}
                axis={axis}
                x={xOf(index)}
                letters={Math.max(4, letters)}
                stretch={brush[axis.key] ?? null}
                onStretch={(stretch) => onBrush(brushed(brush, axis, stretch))}
              />
            ))}
          </svg>
        )}
      </div>
      <p className="muted parallel-hint">
        Drag along an axis to leave only what crosses there; click a line to select its configuration.
      </p>
    </section>
  );
}

interface LinesProps {
  explored: Exploration;
  choice: Choice;
  within: ReadonlySet<number>;
  axes: readonly ParallelAxis[];
  xOf: (index: number) => number;
}

function Lines({ explored, choice, within, axes, xOf }: LinesProps) {
  const theme = useTheme();
  const [hover, setHover] = useState<{ place: number; x: number; y: number } | null>(null);
  const { configurations, objectives, parameters } = explored.results;
  const [first] = objectives;
  const means = configurations.flatMap((row) => (first && row.metrics[first.metric]?.mean) ?? []);
  const least = means.reduce((one, other) => Math.min(one, other), Infinity);
  const most = means.reduce((one, other) => Math.max(one, other), -Infinity);
  const colourOf = (row: TriedConfiguration) => {
    const mean = first && row.metrics[first.metric]?.mean;
    return mean === undefined ? 'var(--bad)' : cssColour(lineColour(theme, shareOf(mean, least, most)));
  };
  // The selected one last, so that it lies above all others; those outside of the brush first.
  const order = (place: number) => (place === choice.place ? 2 : within.has(place) ? 1 : 0);
  const lines = configurations
    .map((row, place) => ({ row, place, path: pathOf(row, axes, xOf) }))
    .sort((one, other) => order(one.place) - order(other.place) || other.place - one.place);
  // Of very many, those that run together have to be told from those that stand alone.
  const opacity = Math.min(0.75, Math.max(0.12, 75 / configurations.length));
  const shown = hover && configurations[hover.place];
  const found = first && shown?.metrics[first.metric];
  return (
    <g onPointerLeave={() => setHover(null)}>
      {lines.map(({ row, place, path }) => (
        <g key={place}>
          <path
            d={path}
            className={`parallel-line ${within.has(place) ? '' : 'is-outside'} ${
              place === choice.place ? 'is-chosen' : ''
            }`}
            style={
              within.has(place) && place !== choice.place
                ? { stroke: colourOf(row), strokeOpacity: opacity }
                : { stroke: within.has(place) ? colourOf(row) : undefined }
            }
          />
          {within.has(place) && (
            <path
              d={path}
              className="parallel-reach"
              onClick={() => choice.choose(place)}
              onPointerMove={(event) => setHover({ place, x: event.clientX, y: event.clientY })}
            />
          )}
        </g>
      ))}
      {hover && shown && (
        <Tooltip x={hover.x} y={hover.y}>
          <p className="tooltip-title">{wordConfiguration(shown.configuration, parameters)}</p>
          <p>{found ? `${first.metric} ${wordMean(found)} ${first.unit}` : 'no result'}</p>
        </Tooltip>
      )}
    </g>
  );
}

/** Interrupted where the configuration has no value. */
function pathOf(
  row: TriedConfiguration,
  axes: readonly ParallelAxis[],
  xOf: (index: number) => number,
): string {
  let path = '';
  let isDown = false;
  axes.forEach((axis, index) => {
    const at = axis.place(row);
    if (at !== null) path += `${isDown ? 'L' : 'M'}${xOf(index).toFixed(1)} ${pixelOf(at).toFixed(1)}`;
    isDown = at !== null;
  });
  return path;
}

interface AxisProps {
  axis: ParallelAxis;
  x: number;
  /** How many there is room for. */
  letters: number;
  /** Of its title, which must not leave the picture. */
  anchor: 'start' | 'middle' | 'end';
  stretch: Stretch | null;
  onStretch: (stretch: Stretch | null) => void;
}

const AWAY = { start: -SIDE + 14, middle: 0, end: SIDE - 14 };

function Axis({ axis, x, letters, anchor, stretch, onStretch }: AxisProps) {
  const begin = useRef<number | null>(null);
  const shown = stretch ?? ALL;
  const placeOfEvent = (event: PointerEvent<SVGElement>) => {
    const box = event.currentTarget.ownerSVGElement!.getBoundingClientRect();
    const place = placeOf(event.clientY - box.top);
    return place < NEAR_END ? 0 : place > 1 - NEAR_END ? 1 : place;
  };
  const onPointerDown = (event: PointerEvent<SVGElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    begin.current = placeOfEvent(event);
  };
  const onPointerMove = (event: PointerEvent<SVGElement>) => {
    if (begin.current !== null) onStretch({ from: begin.current, to: placeOfEvent(event) });
  };
  const onPointerUp = (event: PointerEvent<SVGElement>) => {
    // A click is no stretch.
    if (begin.current !== null && Math.abs(placeOfEvent(event) - begin.current) < 0.01) onStretch(null);
    begin.current = null;
  };
  return (
    <g className={`parallel-axis ${axis.isObjective ? 'is-objective' : ''}`}>
      <text x={x + AWAY[anchor]} y={16} textAnchor={anchor} className="parallel-title">
        <title>{axis.title}</title>
        {wordBrief(axis.title, letters)}
        {axis.unit !== '' && <tspan className="parallel-unit"> {axis.unit}</tspan>}
      </text>
      <line x1={x} x2={x} y1={pixelOf(0)} y2={pixelOf(1)} />
      {axis.marks.map(({ at, label }) => (
        <text key={at} x={x + 7} y={pixelOf(at)} dominantBaseline="central" className="parallel-label">
          <title>{label}</title>
          {wordBrief(label, letters)}
        </text>
      ))}
      <rect
        x={x - REACH}
        y={pixelOf(1) - 6}
        width={2 * REACH}
        height={pixelOf(0) - pixelOf(1) + 12}
        className="parallel-track"
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={() => (begin.current = null)}
      />
      {stretch && (
        <rect
          x={x - 6}
          y={pixelOf(stretch.to)}
          width={12}
          height={Math.max(2, pixelOf(stretch.from) - pixelOf(stretch.to))}
          className="parallel-stretch"
        />
      )}
      {(['to', 'from'] as const).map((end) => (
        <End key={end} axis={axis} x={x} end={end} stretch={shown} onStretch={onStretch} />
      ))}
    </g>
  );
}

interface EndProps {
  axis: ParallelAxis;
  x: number;
  end: 'from' | 'to';
  stretch: Stretch;
  onStretch: (stretch: Stretch | null) => void;
}

const KEYS: Readonly<Record<string, number>> = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 };

function End({ axis, x, end, stretch, onStretch }: EndProps) {
  const at = stretch[end];
  const y = pixelOf(at);
  const away = end === 'to' ? -6 : 6;
  const onKeyDown = (event: KeyboardEvent) => {
    const direction = KEYS[event.key];
    if (direction !== undefined) onStretch(moved(stretch, end, direction * axis.step));
    else if (event.key === 'Escape') onStretch(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <path
      d={`M${x - 5} ${y + away}H${x + 5}L${x} ${y}Z`}
      className="parallel-end"
      role="slider"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={`${end === 'to' ? 'Most' : 'Least'} of ${axis.title}`}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(100 * at)}
      aria-valuetext={axis.wordAt(at)}
      onKeyDown={onKeyDown}
    />
  );
}
