// The selected thread: how it spent the recording, its single states in the shown time as a table, its
// critical path, and steps along its states and wake-ups.
import { useMemo, useState } from 'react';
import { useAnswer } from '../../model/answers';
import { withQuery } from '../../model/client';
import type { Intervals, Path, Thread } from '../../model/interface';
import { toRequest } from '../../model/jumps';
import { adjust, go, usePlace } from '../../model/place-store';
import { useHostName, useRecording, useSharedRange } from '../../model/recording';
import { wordDuration, wordTime } from '../../model/wording';
import { span } from '../../draw/time-scale';
import { DataTable, type DataColumn } from '../../parts/data-table/data-table';
import { Answered, EmptyNotice } from '../../parts/notices';
import { PlaceLink } from '../../parts/place-link';
import { StateName, StateTable } from '../../parts/state-bar';
import { PathGraph } from '../requests/path-graph';
import { SegmentStrip } from '../requests/segment-strip';
import { FollowButtons } from './follow-buttons';

interface ThreadDetailProps {
  thread: Thread;
  isShown: (row: number) => boolean;
}

type Form = 'states' | 'path';

export function ThreadDetail({ thread, isShown }: ThreadDetailProps) {
  const [form, setForm] = useState<Form>('states');
  const { hosts } = useRecording();
  const hostName = useHostName();
  return (
    <section className="request-detail" aria-label="The selected thread">
      <header className="request-head">
        <div className="request-title">
          <h2>
            {thread.comm || 'unnamed'} <span className="muted">{thread.tid}</span>
          </h2>
          <span className="muted">
            process {thread.pid ?? thread.tid}
            {hosts.length > 1 ? ` on ${hostName(thread.host)}` : ''}, seen from{' '}
            {wordTime(thread.begin_ns, 1e6)} to {wordTime(thread.end_ns, 1e6)}
          </span>
          {thread.serves_requests && <RequestAtTime thread={thread} />}
          <span className="spacer" />
          <FollowButtons thread={thread} isShown={isShown} />
          <button
            type="button"
            className="quiet-button"
            aria-label="Close the thread"
            onClick={() => go({ thread: null })}
          >
            ✕
          </button>
        </div>
      </header>
      <div className="request-body">
        <aside className="request-facts" aria-label="How it spent the recording">
          <h3>In the whole recording</h3>
          <StateTable states={thread.states} caption="Time of the thread by state" />
        </aside>
        <div className="request-lines">
          <ThreadForms thread={thread} form={form} setForm={setForm} />
        </div>
      </div>
    </section>
  );
}

/** The request that the thread works for at the selected time. */
function RequestAtTime({ thread }: { thread: Thread }) {
  const { at } = usePlace();
  const { bounds } = useSharedRange();
  const answer = useAnswer<Intervals>(
    at === null
      ? null
      : {
          path: '/api/intervals',
          body: { of: 'requests', rows: [thread.row], begin_ns: at, end_ns: at + 1, limit: 4 },
        },
    false,
  );
  const work = at === null ? undefined : answer.value?.rows[0]?.find((one) => one.value >= 0);
  if (!work) return null;
  return (
    <PlaceLink to={toRequest({ id: work.value, begin_ns: work.begin_ns, end_ns: work.end_ns }, bounds)}>
      works for request {work.value} at the selected time
    </PlaceLink>
  );
}

function ThreadForms({
  thread,
  form,
  setForm,
}: {
  thread: Thread;
  form: Form;
  setForm: (form: Form) => void;
}) {
  const { at } = usePlace();
  const { range, bounds, setRange } = useSharedRange();
  const path = useAnswer<Path>(
    form === 'path'
      ? {
          path: withQuery(`/api/threads/${thread.row}/path`, { begin_ns: range.begin, end_ns: range.end }),
        }
      : null,
  );
  return (
    <>
      <div className="request-lines-bar">
        <span className="choice" role="group" aria-label="Form">
          <button type="button" aria-pressed={form === 'states'} onClick={() => setForm('states')}>
            States
          </button>
          <button
            type="button"
            aria-pressed={form === 'path'}
            title="What it waited for in the shown time, and what the threads did that it waited for"
            onClick={() => setForm('path')}
          >
            Critical path
          </button>
        </span>
        {form === 'path' && path.value && <SegmentStrip path={path.value} at={at} of={span(range)} />}
      </div>
      <div className="view-rest">
        {form === 'states' ? (
          <StateList thread={thread} />
        ) : (
          <Answered answer={path}>
            {(value) => (
              <PathGraph
                name={`Critical path of thread ${thread.tid}`}
                path={value}
                spans={[]}
                ownSpan={null}
                saveAs={`thread-${thread.tid}`}
                range={range}
                bounds={bounds}
                whole={{ begin: value.begin_ns, end: value.end_ns }}
                onRange={setRange}
              />
            )}
          </Answered>
        )}
      </div>
    </>
  );
}

const MOST_STATES = 2000;

interface StateRow {
  begin: number;
  length: number;
  value: number;
}

function StateList({ thread }: { thread: Thread }) {
  const { range } = useSharedRange();
  const { states } = useRecording();
  const { at } = usePlace();
  const answer = useAnswer<Intervals>({
    path: '/api/intervals',
    body: {
      of: 'threads',
      rows: [thread.row],
      begin_ns: range.begin,
      end_ns: range.end,
      limit: MOST_STATES,
    },
  });
  const rows = useMemo<StateRow[]>(
    () =>
      (answer.value?.rows[0] ?? []).map(({ begin_ns, end_ns, value }) => ({
        begin: begin_ns,
        length: end_ns - begin_ns,
        value,
      })),
    [answer.value],
  );
  const columns = useMemo<DataColumn<StateRow>[]>(
    () => [
      {
        key: 'begin',
        title: 'Begin',
        width: 160,
        align: 'right',
        value: (row) => row.begin,
        cell: (row) => wordTime(row.begin, 1),
      },
      {
        key: 'length',
        title: 'Duration',
        width: 110,
        align: 'right',
        value: (row) => row.length,
        cell: (row) => wordDuration(row.length),
      },
      {
        key: 'state',
        title: 'State',
        grow: 1,
        value: (row) => states[row.value] ?? '',
        cell: (row) => {
          const state = states[row.value];
          return state ? <StateName state={state} /> : row.value;
        },
      },
    ],
    [states],
  );
  const selected = at === null ? null : rows.find((row) => row.begin <= at && at < row.begin + row.length);
  return (
    <Answered answer={answer}>
      {(value) =>
        value.complete ? (
          <DataTable
            name={`States of thread ${thread.tid} in the shown time`}
            rows={rows}
            columns={columns}
            keyOf={(row) => String(row.begin)}
            selected={selected ? String(selected.begin) : null}
            onSelect={(row) => adjust({ at: row.begin })}
            saveAs={`thread-${thread.tid}`}
            heading={`${rows.length} states in the shown time`}
          />
        ) : (
          <EmptyNotice title="Too many states to list">
            Zoom in until there are fewer than {MOST_STATES}.
          </EmptyNotice>
        )
      }
    </Answered>
  );
}
