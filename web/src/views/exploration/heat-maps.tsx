// A metric over two parameters, once for each combination of others, as figure 3 of Go and Colmenares (2016). What stands
// where is chosen above; the server chooses what the address does not say, and computes every cell.
import { useMemo } from 'react';
import { shareOf } from '../../draw/heat-colours';
import { useLatest } from '../../model/exploration';
import { wordGoal, wordShort } from '../../model/exploration-words';
import { withQuery } from '../../model/client';
import type { Exploration, ExploredMetric, HeatMap } from '../../model/interface';
import { usePlace } from '../../model/place-store';
import { csvOf, type ValueColumn } from '../../parts/data-table/table-rows';
import { Answered } from '../../parts/notices';
import { SaveButtons } from '../../parts/save-buttons';
import { saveText } from '../../parts/save-file';
import { useTheme } from '../../parts/theme';
import { keepInAddress, type Choice } from './choice';
import { HeatMapPanel } from './heat-map-panel';
import { heatStyle } from './heat-style';

export function HeatMaps({ explored, choice }: { explored: Exploration; choice: Choice }) {
  const { filters } = usePlace();
  const answer = useLatest<HeatMap>(
    withQuery('/api/exploration/heat-map', {
      metric: filters.metric,
      x: filters.x,
      y: filters.y,
      // Nothing at all is another question than the empty list.
      by: filters.by === NONE ? ',' : filters.by,
      revision: explored.progress.revision,
    }),
  );
  return (
    <section className="panel" aria-label="Heat maps">
      {answer.error && (
        // The address may name what this exploration does not have.
        <p className="heat-again">
          <button type="button" onClick={() => keepInAddress({ metric: null, x: null, y: null, by: null })}>
            Choose axes anew
          </button>
        </p>
      )}
      <Answered answer={answer}>
        {(map) => (
          <>
            <div className="panel-head heat-head">
              <h2>{map.metric} by parameters</h2>
              <HeatChoices map={map} explored={explored} />
            </div>
            <Maps map={map} explored={explored} choice={choice} />
          </>
        )}
      </Answered>
    </section>
  );
}

const NONE = 'none';

function HeatChoices({ map, explored }: { map: HeatMap; explored: Exploration }) {
  const { filters } = usePlace();
  const names = explored.parameters.map(({ name }) => name);
  // What was chosen is shown at once, and the map as soon as it is there.
  const chosen = (name: string | undefined) => names.find((one) => one === name);
  const x = chosen(filters.x) ?? map.x.parameter;
  const y = chosen(filters.y) ?? map.y?.parameter ?? null;
  const by = filters.by?.split(',').filter(chosen) ?? map.by.map(({ parameter }) => parameter);
  const set = (next: { x?: string; y?: string | null; by?: string[] }) => {
    const places = { x, y, by, ...next };
    // A parameter that is taken leaves where it was, in exchange for what it displaces.
    if (places.x === places.y) {
      if (next.x !== undefined) places.y = x;
      else places.x = y ?? x;
    }
    const rest = places.by.filter((name) => name !== places.x && name !== places.y);
    const displaced = [x, y].filter(
      (name): name is string =>
        name !== null && next.by === undefined && name !== places.x && name !== places.y,
    );
    const left = places.by.length === rest.length ? [] : displaced;
    keepInAddress({ x: places.x, y: places.y, by: [...rest, ...left].join(',') || NONE });
  };
  return (
    <span className="heat-choices">
      <label>
        Colour
        <select
          value={filters.metric ?? map.metric}
          onChange={(event) => keepInAddress({ metric: event.target.value })}
        >
          {explored.metrics.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label>
        Right
        <select value={x} onChange={(event) => set({ x: event.target.value })}>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      {y !== null && (
        <label>
          Up
          <select value={y} onChange={(event) => set({ y: event.target.value })}>
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      {names.length > 2 && (
        <span className="heat-by" role="group" aria-label="Parameters that tell panels apart">
          <span className="muted">A panel for each</span>
          {names
            .filter((name) => name !== x && name !== y)
            .map((name) => (
              <label key={name}>
                <input
                  type="checkbox"
                  checked={by.includes(name)}
                  onChange={(event) =>
                    set({ by: event.target.checked ? [...by, name] : by.filter((one) => one !== name) })
                  }
                />
                {name}
              </label>
            ))}
        </span>
      )}
    </span>
  );
}

function Maps({ map, explored, choice }: { map: HeatMap; explored: Exploration; choice: Choice }) {
  const extent = useMemo(() => extentOf(map), [map]);
  const metric = explored.metrics.find(({ name }) => name === map.metric);
  return (
    <div className="panel-body">
      <div className="heat-maps">
        {map.panels.map((panel) => (
          <HeatMapPanel
            key={panel.of.join(' ')}
            map={map}
            panel={panel}
            extent={extent}
            explored={explored}
            choice={choice}
          />
        ))}
      </div>
      <div className="legend-and-saving heat-foot">
        {metric && <HeatLegend extent={extent} metric={metric} />}
        {map.over.length > 0 && (
          <span className="muted">Means over all values of {map.over.join(', ')}.</span>
        )}
        <SaveButtons
          what="the heat maps"
          savers={{
            csv: () => saveText(`${explored.results.name}-${map.metric}.csv`, 'text/csv', csvOfMap(map)),
          }}
        />
      </div>
    </div>
  );
}

export interface Extent {
  least: number;
  most: number;
}

function extentOf(map: HeatMap): Extent {
  const means = map.panels.flatMap(({ cells }) => cells.flatMap(({ mean }) => (mean === null ? [] : [mean])));
  return {
    least: means.reduce((least, mean) => Math.min(least, mean), Infinity),
    most: means.reduce((most, mean) => Math.max(most, mean), -Infinity),
  };
}

const LEGEND_STEPS = 24;

function HeatLegend({ extent, metric }: { extent: Extent; metric: ExploredMetric }) {
  const theme = useTheme();
  const { least, most } = extent;
  return (
    <ul className="legend heat-legend" aria-label="Colours and marks">
      {least <= most && (
        <li>
          {wordShort(least)}{' '}
          <span className="heat-scale" aria-hidden="true">
            {Array.from({ length: LEGEND_STEPS }, (_, step) => (
              <span key={step} style={heatStyle(theme, shareOf(step, 0, LEGEND_STEPS - 1))} />
            ))}
          </span>{' '}
          {wordShort(most)} {metric.unit}
          {metric.goal !== null && ` (${wordGoal(metric)})`}
        </li>
      )}
      <li>
        <span className="heat-sample is-best" /> has the best configuration
      </li>
      <li>
        <span className="heat-sample is-failed" /> all trials failed
      </li>
      <li>
        <span className="heat-sample is-flawed" /> some failed
      </li>
      <li>
        <span className="heat-sample" /> not tried
      </li>
    </ul>
  );
}

function csvOfMap(map: HeatMap): string {
  const axes = [map.x, ...(map.y ? [map.y] : []), ...map.by];
  const rows = map.panels.flatMap((panel) =>
    panel.cells.map((cell) => ({ cell, labels: [cell.x, ...(map.y ? [cell.y] : []), ...panel.of] })),
  );
  const columns: ValueColumn<(typeof rows)[number]>[] = [
    ...axes.map((axis, place) => ({
      key: axis.parameter,
      title: axis.parameter,
      value: ({ labels }: (typeof rows)[number]) => axis.labels[labels[place]!] ?? '',
    })),
    { key: 'mean', title: map.metric, value: ({ cell }) => cell.mean },
    { key: 'half', title: 'half_width', value: ({ cell }) => cell.half_width },
    { key: 'count', title: 'trials', value: ({ cell }) => cell.count },
    { key: 'failed', title: 'failed', value: ({ cell }) => cell.failed },
  ];
  return csvOf(rows, columns);
}
