// One heat map, as a table: a row for each value upwards, a cell for each to the right. Walked with the arrow keys; Enter
// or a click selects the configuration of a cell. Numbers lie upwards as in a plot, other values downwards as in a list.
import { useId, useMemo, useState, type KeyboardEvent } from 'react';
import { shareOf } from '../../draw/heat-colours';
import { wordBrief, wordMean, wordNoMean, wordNumber, wordShort } from '../../model/exploration-words';
import type { Exploration, HeatMap, HeatMapCell, HeatMapPanel as Panel } from '../../model/interface';
import { wordNumberOf } from '../../model/wording';
import { useTheme } from '../../parts/theme';
import { Facts, Tooltip } from '../../parts/tooltip';
import type { Choice } from './choice';
import type { Extent } from './heat-maps';
import { heatStyle } from './heat-style';

interface HeatMapPanelProps {
  map: HeatMap;
  panel: Panel;
  extent: Extent;
  explored: Exploration;
  choice: Choice;
}

interface Spot {
  x: number;
  y: number;
}

/** Narrower cells have no room for numbers. */
const WITH_NUMBERS = 9;

/** Of a label beside the cells; the whole of it is its title. */
const MOST_LETTERS = 24;

export function HeatMapPanel({ map, panel, extent, explored, choice }: HeatMapPanelProps) {
  const identity = useId();
  const theme = useTheme();
  const [at, setAt] = useState<Spot | null>(null);
  const [hover, setHover] = useState<{ spot: Spot; left: number; top: number } | null>(null);
  const cells = useMemo(() => new Map(panel.cells.map((cell) => [`${cell.x} ${cell.y}`, cell])), [panel]);
  const cellAt = ({ x, y }: Spot) => cells.get(`${x} ${y}`) ?? null;
  const columns = map.x.labels.length;
  const isUpward = map.y?.is_number ?? false;
  const rows = (map.y?.labels ?? ['']).map((_, y) => y);
  if (isUpward) rows.reverse();
  const title = map.by.map((axis, place) => `${axis.parameter} ${axis.labels[panel.of[place]!]}`).join(', ');

  const onKeyDown = (event: KeyboardEvent) => {
    const present = at ?? { x: 0, y: rows[0]! };
    const row = rows.indexOf(present.y);
    const step: Record<string, Spot> = {
      ArrowRight: { x: Math.min(columns - 1, present.x + 1), y: present.y },
      ArrowLeft: { x: Math.max(0, present.x - 1), y: present.y },
      ArrowDown: { x: present.x, y: rows[Math.min(rows.length - 1, row + 1)]! },
      ArrowUp: { x: present.x, y: rows[Math.max(0, row - 1)]! },
    };
    const next = step[event.key];
    if (next) show(at === null ? present : next);
    else if (event.key === 'Enter' || event.key === ' ') select(cellAt(present));
    else if (event.key === 'Escape') setHover(null);
    else return;
    event.preventDefault();
  };
  const show = (spot: Spot) => {
    setAt(spot);
    const box = document.getElementById(`${identity}-${spot.x}-${spot.y}`)?.getBoundingClientRect();
    if (box) setHover({ spot, left: box.right - 10, top: box.bottom - 8 });
  };
  const select = (cell: HeatMapCell | null) => {
    const first = cell?.configurations[0];
    if (first !== undefined) choice.choose(first);
  };

  return (
    <figure className="heat-map">
      {title !== '' && <figcaption>{title}</figcaption>}
      <table
        role="grid"
        tabIndex={0}
        aria-label={title === '' ? map.metric : `${map.metric}, ${title}`}
        aria-activedescendant={at ? `${identity}-${at.x}-${at.y}` : undefined}
        className={columns > WITH_NUMBERS ? 'is-narrow' : ''}
        onKeyDown={onKeyDown}
        onFocus={() => at === null && setAt({ x: 0, y: rows[0]! })}
        onBlur={() => setHover(null)}
        onPointerLeave={() => setHover(null)}
      >
        <tbody>
          {rows.map((y) => (
            <tr key={y}>
              <th scope="row" title={map.y?.labels[y]}>
                {wordBrief(map.y?.labels[y] ?? '', MOST_LETTERS)}
              </th>
              {map.x.labels.map((_, x) => {
                const cell = cellAt({ x, y });
                return (
                  <td
                    key={x}
                    id={`${identity}-${x}-${y}`}
                    role="gridcell"
                    aria-selected={cell?.configurations.includes(choice.place) ?? false}
                    className={classOf(cell, choice, at?.x === x && at.y === y)}
                    style={
                      cell && cell.mean !== null
                        ? heatStyle(theme, shareOf(cell.mean, extent.least, extent.most))
                        : undefined
                    }
                    onClick={() => {
                      setAt({ x, y });
                      select(cell);
                    }}
                    onPointerMove={(event) =>
                      setHover({ spot: { x, y }, left: event.clientX, top: event.clientY })
                    }
                  >
                    <span aria-hidden="true">
                      {cell && cell.mean !== null && columns <= WITH_NUMBERS && wordShort(cell.mean)}
                      {cell && cell.mean === null && (cell.failed > 0 ? '✕' : '–')}
                    </span>
                    <span className="visually-hidden">
                      {wordSpot(map, { x, y })}: {wordCell(cell)}
                    </span>
                  </td>
                );
              })}
            </tr>
          ))}
          <tr>
            <th aria-hidden="true" />
            {map.x.labels.map((label, x) => (
              <th key={x} scope="col" title={label}>
                {wordBrief(label, MOST_LETTERS)}
              </th>
            ))}
          </tr>
        </tbody>
      </table>
      <p className="heat-axes muted">
        {map.x.parameter} →{map.y && `, ${map.y.parameter} ${isUpward ? '↑' : '↓'}`}
      </p>
      {hover && (
        <Tooltip x={hover.left} y={hover.top}>
          <p className="tooltip-title">{wordSpot(map, hover.spot)}</p>
          <CellFacts cell={cellAt(hover.spot)} map={map} explored={explored} />
        </Tooltip>
      )}
    </figure>
  );
}

function classOf(cell: HeatMapCell | null, choice: Choice, isAt: boolean): string {
  const names = [
    isAt && 'is-at',
    cell?.configurations.includes(0) && cell.mean !== null && 'is-best',
    choice.isChosen && cell?.configurations.includes(choice.place) && 'is-chosen',
    cell && cell.mean === null && cell.failed > 0 && 'is-failed',
    cell && cell.mean !== null && cell.failed > 0 && 'is-flawed',
    cell && 'is-tried',
  ];
  return names.filter(Boolean).join(' ');
}

function wordSpot(map: HeatMap, { x, y }: Spot): string {
  const upward = map.y ? `, ${map.y.parameter} ${map.y.labels[y]}` : '';
  return `${map.x.parameter} ${map.x.labels[x]}${upward}`;
}

function wordCell(cell: HeatMapCell | null): string {
  if (cell === null) return 'not tried';
  const failed = cell.failed > 0 ? `, ${cell.failed} failed` : '';
  if (cell.mean === null) return wordNoMean(cell.failed);
  const several = cell.configurations.length > 1;
  const mean = wordMean({ mean: cell.mean, half_width: cell.half_width });
  return `${mean}${several ? ` (mean of ${cell.configurations.length} configurations)` : ''}, ${wordNumberOf(cell.count, 'trial')}${failed}`;
}

interface CellFactsProps {
  cell: HeatMapCell | null;
  map: HeatMap;
  explored: Exploration;
}

function CellFacts({ cell, map, explored }: CellFactsProps) {
  if (cell === null) return <p className="muted">Not tried</p>;
  const unit = explored.metrics.find(({ name }) => name === map.metric)?.unit ?? '';
  const facts: [string, string][] = [];
  if (cell.mean !== null) {
    facts.push(['Mean', `${wordNumber(cell.mean)} ${unit}`]);
    if (cell.half_width !== null) {
      const percent = Math.round(100 * explored.results.confidence);
      facts.push([
        `${percent} % in`,
        `${wordNumber(cell.mean - cell.half_width)} to ${wordNumber(cell.mean + cell.half_width)}`,
      ]);
    }
    if (cell.configurations.length > 1 && cell.low !== null && cell.high !== null) {
      facts.push([
        'Of',
        `${cell.configurations.length} configurations, ${wordNumber(cell.low)} to ${wordNumber(cell.high)}`,
      ]);
    }
  }
  const isStopped = cell.mean === null && cell.failed === 0;
  facts.push([
    'Trials',
    isStopped ? wordNoMean(0) : `${cell.count}${cell.failed > 0 ? `, and ${cell.failed} failed` : ''}`,
  ]);
  return <Facts facts={facts} />;
}
