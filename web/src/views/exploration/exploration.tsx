// An exploration, also while it runs: what is best, a metric over parameters, what it depends on, all configurations,
// and the trials in time. Which configuration is selected, the address says: by the first trial that ran it, as ranks
// change while it runs.
import { useMemo, useState } from 'react';
import { isUnderWay, useExploration, useExplorationProgress } from '../../model/exploration';
import type { Exploration as Explored } from '../../model/interface';
import { usePlace } from '../../model/place-store';
import { useRecording } from '../../model/recording';
import { Answered, EmptyNotice, ErrorNotice, WaitingNotice } from '../../parts/notices';
import { ConfigurationDetail } from './configuration-detail';
import { ConfigurationTable } from './configuration-table';
import { Front } from './front';
import { Head } from './head';
import { HeatMaps } from './heat-maps';
import { Importance } from './importance';
import { ParallelCoordinates } from './parallel-coordinates';
import { Reasons } from './reasons';
import { TrialChart } from './trial-chart';
import { keepInAddress, type Choice } from './choice';
import { type Brush, isWithin } from './parallel-axes';

export function Exploration() {
  return useRecording().has_exploration ? <ToldExploration /> : <NoExploration />;
}

function NoExploration() {
  return (
    <EmptyNotice title="No exploration was opened">
      <code>slowpath serve</code> shows the folder that <code>slowpath explore</code> writes.
    </EmptyNotice>
  );
}

function ToldExploration() {
  const { progress, error } = useExplorationProgress();
  const answer = useExploration(progress?.revision ?? null);
  if (progress === null) return error ? <ErrorNotice error={error} /> : <WaitingNotice waiting={null} />;
  return (
    <Answered answer={answer}>
      {(explored) => (
        <div className="exploration">
          <Head explored={explored} progress={progress} error={error} />
          {explored.results.trials === 0 ? (
            <section className="panel exploration-nothing" aria-label="Nothing yet">
              <EmptyNotice
                title={isUnderWay(progress) ? 'No trial has ended yet' : 'It ended before a trial did'}
              >
                {isUnderWay(progress)
                  ? 'What is found is shown here as soon as the first one has; the page looks by itself.'
                  : 'slowpath explore with --resume goes on.'}
              </EmptyNotice>
            </section>
          ) : (
            <Found explored={explored} />
          )}
        </div>
      )}
    </Answered>
  );
}

function Found({ explored }: { explored: Explored }) {
  const choice = useChoice(explored);
  const [brush, setBrush] = useState<Brush>({});
  const { results } = explored;
  const within = useMemo(
    () => new Set(results.configurations.flatMap((row, place) => (isWithin(row, brush) ? [place] : []))),
    [results, brush],
  );
  return (
    <>
      <HeatMaps explored={explored} choice={choice} />
      <div className="exploration-columns">
        <Importance results={results} />
        <Reasons explored={explored} />
      </div>
      <ParallelCoordinates
        explored={explored}
        choice={choice}
        brush={brush}
        onBrush={setBrush}
        within={within}
      />
      {results.objectives.length > 1 && <Front explored={explored} choice={choice} within={within} />}
      <section className="panel exploration-table" aria-label="All configurations">
        <ConfigurationTable explored={explored} choice={choice} within={within} />
        <ConfigurationDetail explored={explored} choice={choice} />
      </section>
      <TrialChart explored={explored} choice={choice} />
    </>
  );
}

/** The selected configuration; the best where the address says none. */
function useChoice({ trials }: Explored): Choice {
  const { filters } = usePlace();
  const firstTrials = useMemo(() => {
    const first = new Map<number, number>();
    for (const { trial, configuration } of trials) {
      if (!first.has(configuration)) first.set(configuration, trial);
    }
    return first;
  }, [trials]);
  const named = Number(filters.configuration ?? NaN);
  const found = trials.find(({ trial }) => trial === named)?.configuration;
  return {
    place: found ?? 0,
    isChosen: found !== undefined,
    choose: (place) => keepInAddress({ configuration: String(firstTrials.get(place) ?? '') }),
  };
}
