// The first view: what was recorded and what was lost, what slows requests down (worst first, with links to
// the evidence), how long requests take and what slow ones do with their time. From here the slowest
// request's answer is one click away.
import { useAnswer, type Answer } from '../../model/answers';
import { withQuery } from '../../model/client';
import type { Findings, Operations, RequestDetail, RequestPage } from '../../model/interface';
import { toRequest } from '../../model/jumps';
import { usePlace } from '../../model/place-store';
import { useHasKernel, useRecording, useSharedRange, useStillRecorded } from '../../model/recording';
import { wordLength, wordNumberOf, wordTime } from '../../model/wording';
import { Answered, EmptyNotice } from '../../parts/notices';
import { PlaceLink } from '../../parts/place-link';
import { StateBar, StateLegend } from '../../parts/state-bar';
import { STATE_NAMES } from '../../model/interface';
import { BusiestThreads } from './busiest-threads';
import { FindingCard } from './finding-card';
import { NoRequests } from './no-requests';
import { OperationsPanel } from './operations-panel';
import { RecordingFacts } from './recording-facts';

const SLOWEST = 20;

export function Overview() {
  const { span_files: spanFiles, has_stores: stores } = useRecording();
  const kernel = useHasKernel();
  const stillRecorded = useStillRecorded();
  const slowest = useAnswer<RequestPage>({
    path: withQuery('/api/requests', { sort: 'duration', order: 'desc', offset: 0, limit: SLOWEST }),
  });
  return (
    <div className="overview">
      <RecordingFacts requests={slowest.value?.total ?? null} />
      {slowest.value?.total === 0 ? (
        <div className="overview-columns">
          {(kernel || !stores) && <BusiestThreads />}
          <NoRequests
            stillRecorded={stillRecorded}
            spanFiles={spanFiles ?? 0}
            kernel={kernel}
            stores={stores}
          />
        </div>
      ) : (
        <RequestsAtAGlance slowest={slowest} />
      )}
    </div>
  );
}

function RequestsAtAGlance({ slowest }: { slowest: Answer<RequestPage> }) {
  const operations = useAnswer<Operations>({ path: '/api/operations' });
  const findings = useAnswer<Findings>({ path: '/api/findings' });
  const { filters } = usePlace();
  const pointedAt = Number(filters.finding ?? 0);
  return (
    <div className="overview-columns">
      <div className="overview-column">
        <section className="panel" aria-label="Findings">
          <div className="panel-head">
            <h2>What slows requests down</h2>
            {findings.value && <Examined findings={findings.value} />}
          </div>
          <Answered answer={findings}>
            {(value) =>
              value.examined === 0 ? (
                <EmptyNotice title="Nothing was examined">
                  What requests waited for is told by the kernel's events, and the recording has none for
                  them.
                </EmptyNotice>
              ) : value.findings.length === 0 ? (
                <EmptyNotice title="Nothing found">
                  No cause takes a tenth of the slow requests' time.
                </EmptyNotice>
              ) : (
                <ol className="finding-list">
                  {value.findings.map((finding, index) => (
                    <FindingCard
                      key={`${finding.host} ${finding.id} ${finding.begin_ns} ${index}`}
                      finding={finding}
                      open={index === pointedAt}
                      pointedAt={filters.finding !== undefined && index === pointedAt}
                    />
                  ))}
                </ol>
              )
            }
          </Answered>
        </section>
        <OperationsPanel operations={operations} />
      </div>
      <div className="overview-column">
        <section className="panel" aria-label="Slowest requests">
          <div className="panel-head">
            <h2>Slowest requests</h2>
            <PlaceLink to={{ view: 'requests', request: null, filters: {} }} optional>
              All requests
            </PlaceLink>
          </div>
          <Answered answer={slowest}>{(page) => <SlowestRequests page={page} />}</Answered>
        </section>
      </div>
    </div>
  );
}

function Examined({ findings }: { findings: Findings }) {
  const { examined, left_out, requests } = findings;
  if (examined === 0) return null;
  return (
    <span className="muted" title="The slowest tenth of each operation, of very many an even part">
      in the slowest {examined} of {wordNumberOf(requests, 'request')}
      {left_out > 0 && `, ${left_out} as slow not recorded whole`}
    </span>
  );
}

function SlowestRequests({ page }: { page: RequestPage }) {
  const { bounds } = useSharedRange();
  const first = page.requests[0]!;
  const worst = useAnswer<RequestDetail>({ path: `/api/requests/${first.id}` });
  const shown = STATE_NAMES.filter((state) =>
    page.requests.some((request) => (request.states[state] ?? 0) > 0.02 * request.duration_ns),
  );
  return (
    <div className="panel-body">
      {worst.value && (
        <p className="worst-verdict">
          <PlaceLink to={toRequest(first, bounds)}>
            {first.operation || first.comm || first.span_id}
          </PlaceLink>{' '}
          took <strong>{wordLength(first)}</strong>: {worst.value.verdict}
        </p>
      )}
      <ul className="slowest-list">
        {page.requests.map((request) => (
          <li key={request.id}>
            <PlaceLink to={toRequest(request, bounds)} className="slowest-link">
              <span className="slowest-name">
                {request.operation || request.comm || request.span_id}
                <span className="muted"> {request.service || `at ${wordTime(request.begin_ns, 1e6)}`}</span>
              </span>
              <StateBar
                states={request.states}
                of={totalOfStates(request.states) / lengthOf(request.duration_ns, first.duration_ns)}
                label="Its time"
              />
              <span className="is-right">{wordLength(request)}</span>
            </PlaceLink>
          </li>
        ))}
      </ul>
      <StateLegend states={shown} />
    </div>
  );
}

/** How long a bar is, of the longest: never so short that one can't see what it consists of. */
function lengthOf(duration: number, longest: number): number {
  return Math.max(0.15, duration / Math.max(1, longest));
}

function totalOfStates(states: Record<string, number | undefined>): number {
  return Object.values(states).reduce<number>((sum, time) => sum + (time ?? 0), 0);
}
