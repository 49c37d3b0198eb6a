// Requests: what to look for above, the list with the critical paths of many requests in parallel, and below
// it one request, or the comparison of two groups. Filters live in the address.
import { useMemo } from 'react';
import { useAnswer } from '../../model/answers';
import type { Operations } from '../../model/interface';
import { operationName, operationTitle } from '../../model/operations';
import { adjust, go, usePlace } from '../../model/place-store';
import { useSharedRange, useRecording, useStillRecorded } from '../../model/recording';
import { isReport } from '../../model/report';
import { wordCount, wordDuration } from '../../model/wording';
import { EmptyNotice, ErrorNotice, NoRequestsYet, WaitingNotice } from '../../parts/notices';
import { SearchField } from '../../parts/search-field';
import { useSettled } from '../../parts/settled';
import { Split } from '../../parts/split';
import { ComparePanel } from './compare-panel';
import { RequestDetailPanel } from './request-detail';
import { RequestList, type Alignment } from './request-list';
import { requestQuery, useRequestPages } from './request-pages';

export function Requests() {
  const { span_files: spanFiles } = useRecording();
  const stillRecorded = useStillRecorded();
  const { filters, request: selected } = usePlace();
  const range = useSettled(useSharedRange().range);
  const operations = useAnswer<Operations>({ path: '/api/operations' });
  const onlyShown = filters.only === 'range';
  const query = useMemo(
    () => requestQuery(filters, onlyShown ? range : null),
    [filters, onlyShown, onlyShown ? range.begin : 0, onlyShown ? range.end : 0],
  );
  const pages = useRequestPages(query);
  const alignment: Alignment =
    filters.align === 'clock' || filters.align === 'share' ? filters.align : 'start';
  const marked = useMemo(() => parseMarked(filters.marked), [filters.marked]);
  // By the clock the list is of the shown time, in its order; the other forms begin with the slowest.
  const fromClock: Record<string, null> =
    alignment === 'clock' ? { only: null, sort: null, order: null } : {};
  const comparing = filters.compare !== undefined;
  const chosen = operations.value?.operations.findIndex(
    (one) => operationName(one) === filters.operation && one.service === (filters.service ?? ''),
  );

  return (
    <div className="view-column">
      <div className="tool-bar" role="search" hidden={isReport}>
        <SearchField
          label="Search requests"
          placeholder="Operation, service, thread, id"
          value={filters.text ?? ''}
          onChange={(text) => adjust({ filters: { text } })}
        />
        <select
          aria-label="Operation"
          value={chosen === undefined || chosen < 0 ? '' : String(chosen)}
          onChange={(event) => {
            const one = operations.value?.operations[Number(event.target.value)];
            const all = event.target.value === '' || !one;
            go({
              filters: {
                operation: all ? null : operationName(one),
                service: all ? null : one.service,
                min: null,
                max: null,
              },
            });
          }}
        >
          <option value="">All operations</option>
          {operations.value?.operations.map((one, index) => (
            <option key={index} value={index}>
              {operationTitle(one)} ({wordCount(one.count)})
            </option>
          ))}
        </select>
        <DurationChoice />
        <label title="Only requests that touch the time range that the other views show">
          <input
            type="checkbox"
            checked={onlyShown}
            onChange={(event) => go({ filters: { only: event.target.checked ? 'range' : null } })}
          />
          in the shown time
        </label>
        <span className="spacer" />
        <span className="choice" role="group" aria-label="Time line">
          <button
            type="button"
            aria-pressed={alignment === 'start'}
            title="Every request from its own begin: compare how long they take"
            onClick={() => go({ filters: { align: null, ...fromClock } })}
          >
            From their begin
          </button>
          <button
            type="button"
            aria-pressed={alignment === 'share'}
            title="Every request as wide as the others: compare what their time went into"
            onClick={() => go({ filters: { align: 'share', ...fromClock } })}
          >
            In proportion
          </button>
          <button
            type="button"
            aria-pressed={alignment === 'clock'}
            title="Requests when they happened: see what they did to each other"
            onClick={() => go({ filters: { align: 'clock', only: 'range', sort: 'begin', order: 'asc' } })}
          >
            By the clock
          </button>
        </span>
        <button
          type="button"
          aria-pressed={comparing}
          title="Compare two groups of requests"
          onClick={() => go({ filters: { compare: comparing ? null : 'bands' } })}
        >
          Compare{marked.size > 0 ? ` (${marked.size} marked)` : ''}
        </button>
      </div>
      <div className="view-rest">
        <Split
          name="Border between the list and the request"
          firstShare={0.38}
          upper={
            pages.error ? (
              <ErrorNotice error={pages.error} />
            ) : pages.total === null ? (
              <WaitingNotice waiting={pages.waiting} />
            ) : pages.total === 0 && stillRecorded && !isFiltered(filters) ? (
              <NoRequestsYet />
            ) : pages.total === 0 ? (
              <EmptyNotice title="No such requests">
                {isFiltered(filters)
                  ? 'No request fits the search and the filters above.'
                  : (spanFiles ?? 0) > 0
                    ? 'None of the recorded spans is of a recorded host; Services shows what they tell by themselves.'
                    : 'The recording has no spans.'}
              </EmptyNotice>
            ) : (
              <RequestList
                query={query}
                pages={pages}
                total={pages.total}
                alignment={alignment}
                marked={marked}
              />
            )
          }
          lower={
            comparing ? (
              <ComparePanel operations={operations} marked={marked} />
            ) : selected !== null ? (
              <RequestDetailPanel key={selected} id={selected} />
            ) : null
          }
        />
      </div>
    </div>
  );
}

function isFiltered(filters: Readonly<Record<string, string>>): boolean {
  return ['text', 'operation', 'service', 'min', 'max', 'percentiles', 'only'].some((name) => filters[name]);
}

function parseMarked(text: string | undefined): ReadonlySet<number> {
  return new Set(
    (text ?? '')
      .split('.')
      .filter((part) => /^\d+$/.test(part))
      .map(Number),
  );
}

const PERCENTILES: [string, string][] = [
  ['0-50', 'Fastest half'],
  ['90-100', 'Slowest tenth'],
  ['99-100', 'Slowest hundredth'],
];

/** Percentiles, each request among those of its own operation, and the durations that a link asks for. */
function DurationChoice() {
  const { filters } = usePlace();
  const { min, max, percentiles } = filters;
  const own =
    min || max ? `${min ? wordDuration(Number(min)) : '0'} – ${max ? wordDuration(Number(max)) : '…'}` : null;
  return (
    <select
      aria-label="Durations"
      value={own ? 'own' : (percentiles ?? '')}
      onChange={(event) => go({ filters: { min: null, max: null, percentiles: event.target.value || null } })}
    >
      <option value="">All durations</option>
      {own && <option value="own">{own}</option>}
      {PERCENTILES.map(([value, title]) => (
        <option key={value} value={value}>
          {title}
        </option>
      ))}
    </select>
  );
}
