// The trials in the order in which they ran, with one objective: what it was, or how far it lay from the mean of its
// configuration, where noise and drift can be seen apart from what configurations make.
import { useState } from 'react';
import { cssColour } from '../../draw/colours';
import { lineColour, shareOf } from '../../draw/heat-colours';
import { pixelOf } from '../../draw/plain-scale';
import {
  sentenceOfDrift,
  withUnit,
  wordConfiguration,
  wordNumber,
  wordPercent,
  wordShort,
} from '../../model/exploration-words';
import type { Exploration, ExploredTrial } from '../../model/interface';
import { wordDuration } from '../../model/wording';
import { EmptyNotice } from '../../parts/notices';
import { ScatterPlot, type ScatterPoint } from '../../parts/scatter-plot';
import { useTheme } from '../../parts/theme';
import { Facts } from '../../parts/tooltip';
import type { Choice } from './choice';

type Kind = 'deviation' | 'value';

export function TrialChart({ explored, choice }: { explored: Exploration; choice: Choice }) {
  const { results, drift } = explored;
  const [wanted, setWanted] = useState<Kind>('deviation');
  const [place, setPlace] = useState(0);
  const objective = results.objectives[place] ?? results.objectives[0]!;
  const isRepeated = explored.trials.some(({ deviations }) => objective.metric in deviations);
  const kind = isRepeated ? wanted : 'value';
  const change = drift.find(({ metric }) => metric === objective.metric)?.change ?? null;
  return (
    <section className="panel" aria-label="Trials in time">
      <div className="panel-head">
        <h2>Trials in time</h2>
        <span className="legend-and-saving">
          {results.objectives.length > 1 && (
            <select
              aria-label="Objective"
              value={place}
              onChange={(event) => setPlace(Number(event.target.value))}
            >
              {results.objectives.map(({ metric }, index) => (
                <option key={metric} value={index}>
                  {metric}
                </option>
              ))}
            </select>
          )}
          <span className="choice" role="group" aria-label="What is shown of a trial">
            <button
              type="button"
              disabled={!isRepeated}
              aria-pressed={kind === 'deviation'}
              onClick={() => setWanted('deviation')}
            >
              From its configuration's mean
            </button>
            <button type="button" aria-pressed={kind === 'value'} onClick={() => setWanted('value')}>
              {objective.metric}
            </button>
          </span>
        </span>
      </div>
      <Chart explored={explored} choice={choice} kind={kind} metric={objective.metric} change={change} />
      <p className="muted trial-words">
        {objective.noise === null
          ? 'No configuration has two results, so nothing is known of the noise. '
          : `Trials of one configuration differ by ${(100 * objective.noise).toFixed(1)} % (noise, one standard deviation). `}
        {sentenceOfDrift(objective.metric, change, results.confidence)}
      </p>
    </section>
  );
}

interface ChartProps {
  explored: Exploration;
  choice: Choice;
  kind: Kind;
  metric: string;
  change: Exploration['drift'][number]['change'];
}

function Chart({ explored, choice, kind, metric, change }: ChartProps) {
  const theme = useTheme();
  const { results, trials } = explored;
  const unit = results.objectives.find((one) => one.metric === metric)?.unit ?? '';
  const valueOf = (trial: ExploredTrial) =>
    kind === 'deviation' ? trial.deviations[metric] : trial.measures[metric];
  const values = trials.flatMap((trial) => valueOf(trial) ?? []);
  if (values.length === 0) return <EmptyNotice title="No trial has a result" />;
  const hasTimes = trials.every(({ begin_ms: begin }) => begin !== null);
  const xOf = (trial: ExploredTrial) => (hasTimes ? trial.begin_ms! / 1000 : trial.trial);
  const floor = values.reduce((least, value) => Math.min(least, value), kind === 'deviation' ? 0 : Infinity);
  const means = results.configurations.flatMap((row) => row.metrics[metric]?.mean ?? []);
  const [least, most] = [Math.min(...means), Math.max(...means)];
  const points = trials.flatMap((trial): ScatterPoint[] => {
    const value = valueOf(trial);
    const isChosen = choice.isChosen && trial.configuration === choice.place;
    const mean = results.configurations[trial.configuration]?.metrics[metric]?.mean;
    const isFailed = trial.measures[metric] === undefined;
    if (value === undefined && !isFailed) return [];
    return [
      {
        key: String(trial.trial),
        x: xOf(trial),
        y: value ?? floor,
        shape: isFailed ? 'cross' : 'dot',
        colour: mean === undefined ? undefined : cssColour(lineColour(theme, shareOf(mean, least, most))),
        className: `${isChosen ? 'is-chosen' : ''} ${isFailed ? 'is-failed' : 'is-trial'}`,
      },
    ];
  });
  const byNumber = new Map(trials.map((trial) => [String(trial.trial), trial]));
  const words = (key: string) => {
    const trial = byNumber.get(key)!;
    const configuration = results.configurations[trial.configuration]!.configuration;
    const value = trial.measures[metric];
    const result = value === undefined ? `${trial.outcome}: ${trial.words}` : `${wordNumber(value)} ${unit}`;
    return `Trial ${key}, ${wordConfiguration(configuration, results.parameters)}: ${result}`;
  };
  const last = Math.max(...points.map(({ x }) => x));
  return (
    <ScatterPlot
      name="Trials in time"
      points={points}
      x={{
        title: hasTimes ? 'since the first trial' : 'number of the trial',
        word: hasTimes ? (seconds) => wordDuration(seconds * 1e9) : String,
      }}
      y={
        kind === 'deviation'
          ? {
              title: 'from the mean',
              word: (share) => (share === 0 ? '0' : `${wordPercent(share).replace(/\.0$/, '')} %`),
              holds: [0],
            }
          : { title: withUnit(metric, unit), word: wordShort }
      }
      height={240}
      saveAs={`${results.name}-trials`}
      words={words}
      tip={(key) => <TrialTip trial={byNumber.get(key)!} explored={explored} metric={metric} unit={unit} />}
      onSelect={(key) => choice.choose(byNumber.get(key)!.configuration)}
      behind={(x, y) =>
        kind === 'deviation' && (
          <g className="trial-lines">
            <line x1={x.from} x2={x.to} y1={pixelOf(y, 0)} y2={pixelOf(y, 0)} />
            {change && hasTimes && (
              <line
                className="trial-drift"
                x1={pixelOf(x, 0)}
                x2={pixelOf(x, last)}
                y1={pixelOf(y, -change.estimate / 2)}
                y2={pixelOf(y, change.estimate / 2)}
              />
            )}
          </g>
        )
      }
    />
  );
}

interface TrialTipProps {
  trial: ExploredTrial;
  explored: Exploration;
  metric: string;
  unit: string;
}

function TrialTip({ trial, explored, metric, unit }: TrialTipProps) {
  const { configurations, parameters } = explored.results;
  const value = trial.measures[metric];
  const deviation = trial.deviations[metric];
  const facts: [string, string][] = [
    ['With', wordConfiguration(configurations[trial.configuration]!.configuration, parameters)],
  ];
  if (value !== undefined) facts.push([metric, `${wordNumber(value)} ${unit}`]);
  if (deviation !== undefined) facts.push(['From mean', `${wordPercent(deviation)} %`]);
  if (value === undefined) facts.push(['Ended', trial.outcome]);
  if (trial.words !== '') facts.push(['Told', trial.words]);
  if (trial.duration_ms !== null) facts.push(['Took', wordDuration(trial.duration_ms * 1e6)]);
  return (
    <>
      <p className="tooltip-title">Trial {trial.trial}</p>
      <Facts facts={facts} />
    </>
  );
}
