// What an exploration came to so far: how far it is, the best configuration with its interval, and how far that can be
// trusted: how many others cannot be told from it, and the noise.
import type { ReactNode } from 'react';
import { ServerError } from '../../model/client';
import { isUnderWay } from '../../model/exploration';
import {
  STATE_OF_EXPLORATION,
  wordGoal,
  wordMean,
  wordTrials,
  wordValue,
} from '../../model/exploration-words';
import type { Exploration, ExplorationProgress, ExplorationResults } from '../../model/interface';
import { wordCount, wordDuration, wordNumberOf } from '../../model/wording';
import { RecommendedFiles } from './recommended-files';

interface HeadProps {
  explored: Exploration;
  /** Newer than that of `explored`, where the server has told it meanwhile. */
  progress: ExplorationProgress;
  error: Error | null;
}

export function Head({ explored, progress, error }: HeadProps) {
  const { results } = explored;
  return (
    <section className="panel exploration-head" aria-label="The exploration">
      <div className="panel-head">
        <h2>
          {results.name} <span className="muted">exploration</span>
        </h2>
        <HowFar progress={progress} error={error} />
      </div>
      <div className="panel-body">
        <Numbers explored={explored} progress={progress} />
        <Best explored={explored} />
        <RecommendedFiles recommended={explored.recommended} />
      </div>
    </section>
  );
}

function HowFar({ progress, error }: { progress: ExplorationProgress; error: Error | null }) {
  const { state, ended, planned, running, end } = progress;
  return (
    <span className="exploration-state" role="status">
      {error && <span className="is-bad">{wordLost(error)}; this is what was last known.</span>}
      {isUnderWay(progress) && <progress max={Math.max(1, planned)} value={ended} aria-label="Trials" />}
      {running && (
        <span className="muted mono exploration-running" title="What runs now">
          {Object.entries(running)
            .map(([name, value]) => `${name}=${wordValue(value)}`)
            .join(' ')}
        </span>
      )}
      <span className={`exploration-chip is-${state}`}>{STATE_OF_EXPLORATION[state]}</span>
      {state === 'ended' && <span className="muted">{end}</span>}
      {state === 'interrupted' && (
        <span className="muted">
          <code>--resume</code> goes on
        </span>
      )}
    </span>
  );
}

/** A server that answers cannot read the exploration any more: its folder may have been moved. */
function wordLost(error: Error): string {
  const hasAnswered = error instanceof ServerError && error.status > 0;
  return hasAnswered ? `It cannot be read any more (${error.message})` : 'The server does not answer';
}

function Numbers({ explored, progress }: { explored: Exploration; progress: ExplorationProgress }) {
  const { results, spent_ms: spent } = explored;
  const facts: [string, ReactNode][] = [
    [
      'Trials',
      <>
        {wordCount(progress.ended)} of {wordCount(progress.planned)} planned
        {results.failed > 0 && <span className="is-bad">, {wordCount(results.failed)} failed</span>}
      </>,
    ],
    ['Configurations', wordCount(results.configurations.length)],
    ['Time in trials', wordDuration(spent * 1e6)],
    ...results.objectives.map(({ metric, goal, noise }): [string, ReactNode] => [
      goal === 'maximise' ? 'Wanted: more' : 'Wanted: less',
      <>
        {metric}{' '}
        <span className="muted">
          {noise === null ? '(noise not known)' : `(noise ${(100 * noise).toFixed(1)} %)`}
        </span>
      </>,
    ]),
  ];
  return (
    <dl className="exploration-facts">
      {facts.map(([name, value], index) => (
        <div key={index}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Best({ explored }: { explored: Exploration }) {
  const { results } = explored;
  const best = results.configurations[0];
  if (!best || best.rank === null) {
    return results.trials === 0 ? null : (
      <p className="is-bad">
        No trial has a result. What went wrong stands in the table, and what was printed in{' '}
        <code>output/</code> of the exploration's folder.
      </p>
    );
  }
  return (
    <div className="exploration-best">
      <div>
        <h3>{explored.progress.state === 'ended' ? 'Best configuration' : 'Best so far'}</h3>
        <ul className="exploration-values" aria-label="The best configuration">
          {results.parameters
            .filter((name) => best.configuration[name] !== undefined)
            .map((name) => (
              <li key={name}>
                <span className="muted">{name}</span> <strong>{wordValue(best.configuration[name])}</strong>
              </li>
            ))}
        </ul>
      </div>
      {results.objectives.map((objective) => {
        const metric = best.metrics[objective.metric];
        return (
          metric && (
            <div key={objective.metric}>
              <h3>{objective.metric}</h3>
              <p className="exploration-mean" title={wordGoal(objective)}>
                <strong>{wordMean(metric)}</strong> <span className="muted">{objective.unit}</span>
              </p>
              <p className="muted">
                {metric.half_width === null
                  ? 'one trial: no interval'
                  : `${Math.round(100 * results.confidence)} % interval, ${wordTrials(best)} trials`}
              </p>
            </div>
          )
        );
      })}
      <p className="exploration-trust">
        {trust(explored, results)} {luck(explored)}
      </p>
    </div>
  );
}

function trust(
  { not_told_apart: alike, no_interval: unknown }: Exploration,
  results: ExplorationResults,
): string {
  const others = results.configurations.length - 1;
  if (others <= 0) return 'Nothing else has been tried yet.';
  const told =
    alike === 0
      ? 'No other configuration is as good by its interval.'
      : `${wordNumberOf(alike, 'other configuration')} cannot be told from it.`;
  return unknown === 0
    ? told
    : `${alike === 0 ? '' : `${told} `}Of ${wordCount(unknown)} there are too few trials to say whether they differ from it.`;
}

function luck({ luck }: Exploration): string {
  if (luck === null) return '';
  const percent = Math.round(100 * luck.share);
  return `Each is compared by itself with the luckiest: of ${wordCount(luck.rivals)} that are equally good, up to ${percent} % would seem worse.`;
}
