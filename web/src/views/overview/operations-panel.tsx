// How long requests of an operation take, and what the slow ones do with their time that the fast ones
// don't: the distribution, and a bar of states per band of percentiles.
import { useState } from 'react';
import { useAnswer, type Answer } from '../../model/answers';
import { withQuery } from '../../model/client';
import { STATE_NAMES, type Band, type Distribution, type Operation } from '../../model/interface';
import { operationFilter, operationTitle } from '../../model/operations';
import { wordCount, wordDuration, wordNumberOf } from '../../model/wording';
import { Histogram } from '../../parts/histogram';
import { Answered, EmptyNotice } from '../../parts/notices';
import { PlaceLink } from '../../parts/place-link';
import { csvOf, type ValueColumn } from '../../parts/data-table/table-rows';
import { SaveButtons } from '../../parts/save-buttons';
import { saveText } from '../../parts/save-file';
import { StateBar, StateLegend } from '../../parts/state-bar';

export function OperationsPanel({ operations }: { operations: Answer<{ operations: Operation[] }> }) {
  const [chosen, setChosen] = useState(0);
  return (
    <section className="panel" aria-label="Latency of operations">
      <div className="panel-head">
        <h2>Fast and slow requests</h2>
        {operations.value && operations.value.operations.length > 0 && (
          <select
            aria-label="Operation"
            value={chosen}
            onChange={(event) => setChosen(Number(event.target.value))}
          >
            {operations.value.operations.map((operation, index) => (
              <option key={index} value={index}>
                {operationTitle(operation)} ({wordCount(operation.count)})
              </option>
            ))}
          </select>
        )}
      </div>
      <Answered answer={operations}>
        {(value) => {
          const operation = value.operations[chosen] ?? value.operations[0];
          return operation ? (
            <OneOperation key={chosen} operation={operation} />
          ) : (
            <EmptyNotice title="No requests to compare" />
          );
        }}
      </Answered>
    </section>
  );
}

function OneOperation({ operation }: { operation: Operation }) {
  const distribution = useAnswer<Distribution>({
    path: withQuery('/api/distribution', {
      ...operationFilter(operation),
      buckets: 60,
    }),
  });
  const bands = operation.bands.filter((band) => band.count > 0);
  const shown = STATE_NAMES.filter((state) => bands.some((band) => (band.states[state] ?? 0) > 0));
  const filters = operationFilter(operation);
  return (
    <div className="panel-body">
      <Answered answer={distribution}>
        {(value) => (
          <Histogram
            name={`Latency of ${operationTitle(operation)}`}
            distribution={value}
            placeOfBar={(from, to) => ({
              view: 'requests',
              request: null,
              filters: { ...filters, min: String(Math.floor(from)), max: String(Math.ceil(to)) },
            })}
            marks={[
              { value: operation.p50_ns, label: 'p50' },
              { value: operation.p99_ns, label: 'p99' },
            ]}
          />
        )}
      </Answered>
      <table className="band-table">
        <caption className="visually-hidden">Time by state, by band of percentiles</caption>
        <thead>
          <tr>
            <th scope="col">Percentiles</th>
            <th scope="col">Requests</th>
            <th scope="col">Took</th>
            <th scope="col">Where the time went</th>
          </tr>
        </thead>
        <tbody>
          {bands.map((band) => (
            <tr key={band.from_percentile}>
              <th scope="row">
                <PlaceLink
                  to={{
                    view: 'requests',
                    request: null,
                    filters: { ...filters, min: String(band.min_ns), max: String(band.max_ns) },
                  }}
                >
                  {band.from_percentile}–{band.to_percentile}
                </PlaceLink>
              </th>
              <td>{wordCount(band.count)}</td>
              <td>
                {band.min_ns === band.max_ns
                  ? wordDuration(band.max_ns)
                  : `${wordDuration(band.min_ns)} – ${wordDuration(band.max_ns)}`}
              </td>
              <td>
                <StateBar states={band.states} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {operation.in_part > 0 && (
        <p className="muted">
          {wordNumberOf(operation.in_part, 'more request')} of unknown length: the start or the end is not
          recorded.
        </p>
      )}
      <div className="legend-and-saving">
        <StateLegend states={shown} />
        <SaveButtons
          what="the bands"
          savers={{ csv: () => saveText('bands.csv', 'text/csv', csvOf(bands, BAND_COLUMNS)) }}
        />
      </div>
    </div>
  );
}

const BAND_COLUMNS: readonly ValueColumn<Band>[] = [
  { key: 'from', title: 'from_percentile', value: (band) => band.from_percentile },
  { key: 'to', title: 'to_percentile', value: (band) => band.to_percentile },
  { key: 'count', title: 'requests', value: (band) => band.count },
  { key: 'min', title: 'min_ns', value: (band) => band.min_ns },
  { key: 'max', title: 'max_ns', value: (band) => band.max_ns },
  ...STATE_NAMES.map((state) => ({
    key: state,
    title: `${state.toLowerCase()}_ns`,
    value: (band: Band) => band.states[state] ?? 0,
  })),
];
