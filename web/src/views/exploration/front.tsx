// Two objectives against each other, with the Pareto front: configurations that no other beats in one objective without
// losing in another. With more than two objectives, which two are seen is chosen.
import { useState } from 'react';
import { pixelOf, type PlainScale } from '../../draw/plain-scale';
import { withUnit, wordConfiguration, wordMean, wordShort } from '../../model/exploration-words';
import type { Exploration } from '../../model/interface';
import { ScatterPlot, type ScatterPoint } from '../../parts/scatter-plot';
import { Facts } from '../../parts/tooltip';
import type { Choice } from './choice';

interface FrontProps {
  explored: Exploration;
  choice: Choice;
  within: ReadonlySet<number>;
}

export function Front({ explored, choice, within }: FrontProps) {
  const { configurations, objectives, parameters, name } = explored.results;
  const [[x, y], setAxes] = useState<[number, number]>([0, 1]);
  const [across, up] = [objectives[x] ?? objectives[0]!, objectives[y] ?? objectives[1]!];
  const points = configurations.flatMap((row, place): ScatterPoint[] => {
    const [right, above] = [row.metrics[across.metric], row.metrics[up.metric]];
    if (!right || !above) return [];
    const isShown = row.is_on_front || place === choice.place;
    return [
      {
        key: String(place),
        x: right.mean,
        y: above.mean,
        xHalf: isShown ? right.half_width : null,
        yHalf: isShown ? above.half_width : null,
        className: [
          row.is_on_front && 'is-front',
          place === choice.place && choice.isChosen && 'is-chosen',
          !within.has(place) && 'is-outside',
        ]
          .filter(Boolean)
          .join(' '),
      },
    ];
  });
  // What is drawn last lies above all else.
  const isOnFront = ({ key }: ScatterPoint) => configurations[Number(key)]!.is_on_front;
  points.sort((one, other) => Number(isOnFront(one)) - Number(isOnFront(other)));
  const onFront = points.filter(isOnFront);
  const title = (objective: typeof across) =>
    `${withUnit(objective.metric, objective.unit)}, ${objective.goal === 'maximise' ? 'more' : 'less'} is better`;
  const words = (key: string) => {
    const row = configurations[Number(key)]!;
    return (
      `${wordConfiguration(row.configuration, parameters)}: ${across.metric} ${wordMean(row.metrics[across.metric]!)}, ` +
      `${up.metric} ${wordMean(row.metrics[up.metric]!)}${row.is_on_front ? ', on the front' : ''}`
    );
  };
  return (
    <section className="panel" aria-label="Pareto front">
      <div className="panel-head">
        <h2>What one objective costs in another</h2>
        {objectives.length > 2 && (
          <span className="heat-choices">
            {([x, y] as const).map((place, index) => (
              <label key={index}>
                {index === 0 ? 'Right' : 'Up'}
                <select
                  value={place}
                  onChange={(event) => {
                    const next = Number(event.target.value);
                    if (index === 0) setAxes([next, next === y ? x : y]);
                    else setAxes([next === x ? y : x, next]);
                  }}
                >
                  {objectives.map(({ metric }, one) => (
                    <option key={metric} value={one}>
                      {metric}
                    </option>
                  ))}
                </select>
              </label>
            ))}
          </span>
        )}
        <ul className="legend" aria-label="Marks of the front">
          <li>
            <span className="swatch is-front" />
            on the Pareto front, with intervals: {onFront.length}
          </li>
          <li>
            <span className="swatch is-other" />
            others
          </li>
        </ul>
      </div>
      <ScatterPlot
        name={`${up.metric} against ${across.metric}`}
        points={points}
        x={{ title: title(across), word: wordShort }}
        y={{ title: title(up), word: wordShort }}
        height={320}
        saveAs={`${name}-front`}
        words={words}
        tip={(key) => {
          const row = configurations[Number(key)]!;
          return (
            <>
              <p className="tooltip-title">{wordConfiguration(row.configuration, parameters)}</p>
              <Facts
                facts={[across, up].map(({ metric, unit }) => [
                  metric,
                  `${wordMean(row.metrics[metric]!)} ${unit}`,
                ])}
              />
            </>
          );
        }}
        onSelect={(key) => choice.choose(Number(key))}
        behind={objectives.length === 2 ? (xs, ys) => <Stairs points={onFront} x={xs} y={ys} /> : undefined}
      />
    </section>
  );
}

/** The line along the front. */
function Stairs({ points, x, y }: { points: readonly ScatterPoint[]; x: PlainScale; y: PlainScale }) {
  const sorted = [...points].sort((one, other) => one.x - other.x);
  const path = sorted.map(
    (point, index) => `${index === 0 ? 'M' : 'L'}${pixelOf(x, point.x)} ${pixelOf(y, point.y)}`,
  );
  return <path d={path.join('')} className="front-line" />;
}
