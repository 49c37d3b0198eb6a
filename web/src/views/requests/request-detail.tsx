// One request: the verdict in words, where its time went, what it waited for; its spans, and its critical
// path through threads and hosts with arrows where it goes from one to the other.
import { useMemo, useState } from 'react';
import { useAnswer } from '../../model/answers';
import type { Request, RequestDetail } from '../../model/interface';
import { toRequest, toThread } from '../../model/jumps';
import { formatRange, parseRange } from '../../model/place';
import { adjust, go, usePlace } from '../../model/place-store';
import { useHostName, useRecording, useSharedRange } from '../../model/recording';
import { isReport } from '../../model/report';
import { STATE_WORDS, wordDuration, wordLength, wordShare, wordTime, wordWait } from '../../model/wording';
import { contains, fitInto, withMargin } from '../../draw/time-scale';
import { Answered } from '../../parts/notices';
import { PlaceLink } from '../../parts/place-link';
import { StateTable } from '../../parts/state-bar';
import { useEvents } from '../events/event-pages';
import { EventsAround } from '../events/events';
import { PathGraph } from './path-graph';
import { SegmentStrip } from './segment-strip';
import { SegmentTable } from './segment-table';

export function RequestDetailPanel({ id }: { id: number }) {
  const answer = useAnswer<RequestDetail>({ path: `/api/requests/${id}` }, false);
  return (
    <section className="request-detail" aria-label="The selected request">
      {answer.error && (
        <div className="request-lines-bar">
          <button type="button" onClick={() => go({ request: null })}>
            Close
          </button>
        </div>
      )}
      <Answered answer={answer}>{(detail) => <OneRequest detail={detail} />}</Answered>
    </section>
  );
}

function wordRank({ percentile, shown }: Request): string {
  if (percentile === undefined) return `its ${shown === 'no-start' ? 'start' : 'end'} is not recorded`;
  if (percentile >= 100) return 'the slowest of its operation';
  return `percentile ${Math.floor(percentile * 10) / 10} of its operation`;
}

function OneRequest({ detail }: { detail: RequestDetail }) {
  const { request, path } = detail;
  const { filters, at } = usePlace();
  const { bounds } = useSharedRange();
  const { hosts } = useRecording();
  const hostName = useHostName();
  const [form, setForm] = useState<'line' | 'table' | 'events'>('line');
  const whole = useMemo(
    () => withMargin({ begin: request.begin_ns, end: request.end_ns }, 0.03, bounds),
    [request, bounds],
  );
  const focus = parseRange(filters.focus ?? null);
  const range = focus && contains(bounds, focus.begin) ? fitInto(focus, bounds) : whole;
  // A link's stretch is pointed out until another time is selected.
  const pointed = useMemo(() => parseRange(filters.mark ?? null), [filters.mark]);
  const mark = pointed?.begin === at && pointed.end <= path.end_ns ? pointed : null;
  return (
    <>
      <header className="request-head">
        <div className="request-title">
          <h2>
            {request.operation || request.comm}
            <span className="muted"> {request.service}</span>
          </h2>
          <span className="request-duration">{wordLength(request)}</span>
          <span className="muted">{wordRank(request)}</span>
          <span className="muted">
            began at {wordTime(request.begin_ns, 1000)}
            {hosts.length > 1 ? ` on ${hostName(request.host)}` : ''}
          </span>
          <span className="muted mono" title="Trace id">
            {request.trace_id}
          </span>
          <span className="spacer" />
          <PlaceLink to={{ view: 'threads', range, filters: { tids: threadFilter(detail) } }} optional>
            Its threads
          </PlaceLink>
          <PlaceLink to={{ view: 'events', range, at: request.begin_ns }} optional>
            Its events
          </PlaceLink>
          <button
            type="button"
            className="quiet-button"
            aria-label="Close the request"
            onClick={() => go({ request: null })}
          >
            ✕
          </button>
        </div>
        <p className="verdict">{detail.verdict}</p>
      </header>
      <div className="request-body">
        <aside className="request-facts" aria-label="Where its time went">
          <Breakdown detail={detail} />
          <Waits detail={detail} />
          <BlockedBy detail={detail} />
        </aside>
        <div className="request-lines">
          <div className="request-lines-bar">
            <span className="choice" role="group" aria-label="Form">
              <button type="button" aria-pressed={form === 'line'} onClick={() => setForm('line')}>
                Time line
              </button>
              <button type="button" aria-pressed={form === 'table'} onClick={() => setForm('table')}>
                Table
              </button>
              {!isReport && (
                <button type="button" aria-pressed={form === 'events'} onClick={() => setForm('events')}>
                  Events
                </button>
              )}
            </span>
            <SegmentStrip path={path} at={at} mark={mark} of={request.duration_ns} />
          </div>
          <div className="view-rest">
            {form === 'line' ? (
              <PathGraph
                name="Spans and critical path of the request"
                path={path}
                spans={detail.spans}
                ownSpan={request.span_id}
                saveAs={`request-${request.id}`}
                range={range}
                bounds={bounds}
                whole={whole}
                mark={mark}
                onRange={(next) => adjust({ filters: { focus: formatRange(next) } })}
              />
            ) : form === 'table' ? (
              <SegmentTable path={path} name={`request-${request.id}`} />
            ) : (
              <EventsOfRequest time={at ?? request.begin_ns} />
            )}
          </div>
        </div>
      </div>
    </>
  );
}

/** The recording's events around the selected time; selecting one selects the path's segment. */
function EventsOfRequest({ time }: { time: number }) {
  const events = useEvents(time, '', '');
  return <EventsAround events={events} time={time} filtered={false} />;
}

function threadFilter(detail: RequestDetail): string {
  const keys = new Set(detail.path.segments.map((segment) => `${segment.host}:${segment.tid}`));
  return [...keys].slice(0, 60).join('.');
}

function Breakdown({ detail }: { detail: RequestDetail }) {
  const [own, setOwn] = useState(false);
  return (
    <section>
      <div className="facts-head">
        <h3>Where its time went</h3>
        <span className="choice is-small" role="group" aria-label="Count waits for other threads">
          <button
            type="button"
            aria-pressed={!own}
            title="Waits for other threads count as what these threads did meanwhile"
            onClick={() => setOwn(false)}
          >
            followed
          </button>
          <button
            type="button"
            aria-pressed={own}
            title="Waits for other threads count as blocked"
            onClick={() => setOwn(true)}
          >
            own
          </button>
        </span>
      </div>
      <StateTable
        states={own ? detail.request.own_states : detail.request.states}
        caption="Time of the request by state"
      />
    </section>
  );
}

function Waits({ detail }: { detail: RequestDetail }) {
  const { bounds } = useSharedRange();
  const { request, waits } = detail;
  if (waits.length === 0) return null;
  return (
    <section>
      <h3>Longest waits</h3>
      <ol className="wait-list">
        {waits.map((wait) => {
          const length = wait.end_ns - wait.begin_ns;
          const onThread = wait.on === 'THREAD';
          return (
            <li key={`${wait.begin_ns} ${wait.tid}`}>
              <button
                type="button"
                className="wait-jump"
                title="Point it out in the time line"
                onClick={() => {
                  const range = withMargin({ begin: wait.begin_ns, end: wait.end_ns }, 0.25, bounds);
                  const mark = formatRange({ begin: wait.begin_ns, end: wait.end_ns });
                  adjust({ at: wait.begin_ns, filters: { focus: formatRange(range), mark } });
                }}
              >
                <strong>{wordDuration(length)}</strong>{' '}
                <span className="muted">({wordShare(length / Math.max(1, request.duration_ns))})</span>
              </button>{' '}
              {onThread
                ? `for thread ${wait.waker_comm ?? ''} (${wait.waker_tid ?? '?'})`
                : wordWait(wait.on)}
              {wait.call ? ` in ${wait.call}` : ''}
              {onThread
                ? `; meanwhile mostly ${STATE_WORDS[wait.mostly_state].title.toLowerCase()} (thread ${wait.mostly_tid})`
                : ''}{' '}
              <PlaceLink
                to={toThread(wait.tid, request.host, { begin: wait.begin_ns, end: wait.end_ns }, bounds)}
                optional
              >
                thread
              </PlaceLink>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function BlockedBy({ detail }: { detail: RequestDetail }) {
  const { bounds } = useSharedRange();
  if (detail.blocked_by.length === 0) return null;
  return (
    <section>
      <h3>Held up by other requests</h3>
      <ol className="wait-list">
        {detail.blocked_by.map((other, index) => (
          <li key={index}>
            <strong>{wordDuration(other.ns)}</strong>{' '}
            {other.id === null ? (
              other.described
            ) : (
              <PlaceLink
                to={toRequest(
                  { id: other.id, begin_ns: detail.request.begin_ns, end_ns: detail.request.end_ns },
                  bounds,
                )}
              >
                {other.described}
              </PlaceLink>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
