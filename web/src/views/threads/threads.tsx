// Threads and processors over time: what every processor ran, what every thread did, who woke whom; the use
// of processors above, the selected thread below. Rows can be coloured by state or by the request that the
// thread works for.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { RowSpan } from '../../draw/row-layout';
import { arrowsBetweenRows } from '../../draw/arrows';
import { useAnnotations } from '../../model/annotations';
import { useAnswer } from '../../model/answers';
import type {
  Processor,
  Processors,
  RequestDetail,
  StateName,
  Thread,
  Threads as AllThreads,
} from '../../model/interface';
import { adjust, go, usePlace } from '../../model/place-store';
import { useHasKernel, useHostName, useRecording, useSharedRange } from '../../model/recording';
import { wordShare } from '../../model/wording';
import { EmptyNotice, ErrorNotice, NoKernel, WaitingNotice } from '../../parts/notices';
import { useSettled } from '../../parts/settled';
import { Split } from '../../parts/split';
import { useTheme } from '../../parts/theme';
import { SaveButtons } from '../../parts/save-buttons';
import { graphSavers } from '../../parts/time-graph/save-picture';
import {
  NOTHING,
  type GraphColumn,
  type GraphMark,
  type RowContent,
} from '../../parts/time-graph/graph-types';
import { TimeGraph, type TimeGraphHandle } from '../../parts/time-graph/time-graph';
import { StateLegend } from '../../parts/state-bar';
import { useRowPictures, useWakeUps } from './row-data';
import { useRowMeaning, valueAt } from './row-meaning';
import { RowTip } from './row-tip';
import { ThreadToolBar } from './thread-tool-bar';
import { keyOfThread, runningTime, threadRows, type ThreadFilter, type ThreadRow } from './thread-rows';
import { ThreadDetail } from './thread-detail';
import { IoChart } from './io-chart';
import { useFolds } from './use-folds';
import { UsageChart } from './usage-chart';

/** What threads can be in, by themselves. */
const LEGEND: readonly StateName[] = [
  'RUNNING',
  'PREEMPTED',
  'WAIT_CPU',
  'INTERRUPTED',
  'BLOCKED',
  'NETWORK',
  'BLOCK_DEVICE',
  'TIMER',
  'USER_INPUT',
  'IPI',
  'UNKNOWN',
];
const NAME_WIDTH = 230;
const BUSY_WIDTH = 76;

export function Threads() {
  return useHasKernel() ? <ThreadsOfKernel /> : <NoKernel />;
}

function ThreadsOfKernel() {
  const threads = useAnswer<AllThreads>({ path: '/api/threads' });
  const cpus = useAnswer<Processors>({ path: '/api/cpus' });
  const error = threads.error ?? cpus.error;
  if (error) return <ErrorNotice error={error} />;
  if (!threads.value || !cpus.value) return <WaitingNotice waiting={threads.waiting ?? cpus.waiting} />;
  if (threads.value.threads.length === 0) return <NoKernel />;
  return <ThreadsOverTime threads={threads.value.threads} cpus={cpus.value.cpus} />;
}

function ThreadsOverTime({ threads, cpus }: { threads: Thread[]; cpus: Processor[] }) {
  const place = usePlace();
  const { filters } = place;
  const { range, bounds, setRange } = useSharedRange();
  const { hosts, duration_ns: duration } = useRecording();
  /** For how long a host's processors are known at most: what its threads' time is a share of. */
  const knownOf = useMemo(() => {
    const most = new Map<number, number>();
    for (const { host, known_ns } of cpus) most.set(host, Math.max(known_ns, most.get(host) ?? 0));
    return (host: number) => most.get(host) ?? duration;
  }, [cpus, duration]);
  const hostName = useHostName();
  const theme = useTheme();
  const graph = useRef<TimeGraphHandle>(null);
  const [sight, setSight] = useState<{ rows: RowSpan; pixels: number }>({
    rows: { first: 0, end: 0 },
    pixels: 0,
  });

  const settledRange = useSettled(range);
  const onlyAlive = filters.alive === 'yes';
  const filter = useMemo<ThreadFilter>(
    () => ({
      text: filters.text ?? '',
      onlyServing: filters.serving === 'yes',
      only: filters.tids ? new Set(filters.tids.split('.')) : null,
      alive: onlyAlive ? settledRange : null,
    }),
    [filters.text, filters.serving, filters.tids, onlyAlive, onlyAlive ? settledRange : null],
  );
  const rows = useMemo(
    () => threadRows(threads, cpus, filter, hosts.length > 1 ? hostName : null),
    [threads, cpus, filter, hosts, hostName],
  );
  useThreadOfAddress(threads);

  const seen = useMemo(() => rows.slice(sight.rows.first, sight.rows.end), [rows, sight]);
  const seenThreads = useMemo(() => seen.flatMap((row) => (row.thread ? [row.thread.row] : [])), [seen]);
  const seenCpus = useMemo(() => seen.flatMap((row) => (row.processor ? [row.processor.row] : [])), [seen]);
  const byRequest = filters.colour === 'requests';
  const folding = filters.fold === 'yes';
  const shownThreads = useMemo(() => rows.flatMap((row) => (row.thread ? [row.thread.row] : [])), [rows]);
  const { bends, magnified } = useFolds(shownThreads, range, folding);
  const pixels = Math.round(sight.pixels * magnified);
  const states = useRowPictures(byRequest ? 'requests' : 'threads', seenThreads, range, bounds, pixels);
  const running = useRowPictures('cpus', seenCpus, range, bounds, pixels);
  const withArrows = filters.arrows !== 'no';
  const wakeUps = useWakeUps(seenThreads, range, withArrows);

  const meaning = useRowMeaning(threads, byRequest);
  const content = useCallback(
    (index: number): RowContent => {
      const row = rows[index];
      if (!row || row.heading) return NOTHING;
      const from = row.thread ? states : running;
      const number = row.thread?.row ?? row.processor?.row ?? -1;
      const inkOf = meaning.inkOf(row);
      const runs = from.runs.get(number);
      if (runs) return { kind: 'runs', runs, inkOf, textOf: (run) => meaning.labelOf(row, run.value) };
      const screen = from.screens.get(number);
      return screen ? { kind: 'screen', screen, inkOf } : NOTHING;
    },
    [rows, states, running, meaning],
  );

  const arrows = useMemo(() => {
    if (!withArrows) return null;
    const rowOf = new Map<string, number>();
    rows.forEach((row, index) => {
      if (row.thread) rowOf.set(String(row.thread.row), index);
    });
    return {
      arrows: arrowsBetweenRows(
        wakeUps.arrows,
        (wake) => ({
          from: String(wake.from_row),
          fromTime: wake.from_ns,
          to: String(wake.to_row),
          toTime: wake.to_ns,
        }),
        rowOf,
      ),
      incomplete: !wakeUps.complete,
    };
  }, [withArrows, wakeUps, rows]);

  const columns: GraphColumn<ThreadRow>[] = [
    {
      key: 'name',
      title: 'Thread',
      width: NAME_WIDTH,
      cell: (row) =>
        row.thread ? (
          <span className="thread-name" title={row.label}>
            {row.thread.comm || 'unnamed'} <span className="muted">{row.thread.tid}</span>
          </span>
        ) : (
          <span className="thread-name">{row.label}</span>
        ),
    },
    {
      key: 'busy',
      title: 'Ran in all',
      width: BUSY_WIDTH,
      align: 'right',
      cell: (row) => (
        <span className="muted" title="Share of its host's recorded time in which it ran">
          {wordShare(
            row.thread
              ? runningTime(row.thread) / Math.max(1, knownOf(row.thread.host))
              : (row.processor?.busy_ns ?? 0) / Math.max(1, row.processor?.known_ns ?? 0),
          )}
        </span>
      ),
    },
  ];

  // On a processor's row, a click selects the thread that runs there.
  const pick = (row: ThreadRow, index: number, time: number) => {
    if (!row.processor) return;
    const value = valueAt(content(index), time);
    const found = value === null ? null : meaning.threadOf(row, value);
    if (found) go({ thread: found.row });
  };
  const isShown = (row: number) => rows.some((one) => one.thread?.row === row);
  const marks = useRequestMark(place.request);
  const annotations = useAnnotations();
  const selectedThread = threads.find((thread) => thread.row === place.thread) ?? null;
  const onSight = useCallback(
    (seenRows: RowSpan, pixels: number) => setSight({ rows: seenRows, pixels }),
    [],
  );
  const error = states.error ?? running.error;
  const withIo = filters.io === 'yes';
  const chartPlace = {
    range,
    bends,
    magnified,
    left: NAME_WIDTH + BUSY_WIDTH,
    width: Math.round(sight.pixels / Math.min(2, window.devicePixelRatio || 1)),
  };

  return (
    <div className="view-column">
      <ThreadToolBar
        filter={filter}
        byRequest={byRequest}
        withArrows={withArrows}
        withIo={withIo}
        folding={folding}
        anyShown={shownThreads.length > 0}
      />
      <UsageChart {...chartPlace} />
      {withIo && <IoChart {...chartPlace} />}
      <div className="view-rest">
        <Split
          name="Border between the threads and the selected thread"
          firstShare={0.62}
          upper={
            error ? (
              <ErrorNotice error={error} />
            ) : (
              <div className="graph-with-bar">
                <TimeGraph<ThreadRow>
                  name="Processors and threads over time"
                  rows={rows}
                  columns={columns}
                  content={content}
                  range={range}
                  bends={bends}
                  bounds={bounds}
                  onRange={setRange}
                  at={place.at}
                  onAt={(time) => adjust({ at: time })}
                  selected={place.thread === null ? null : keyOfThread(place.thread)}
                  onSelect={(row) => {
                    if (row.thread && row.thread.row !== place.thread) go({ thread: row.thread.row });
                  }}
                  onPick={pick}
                  arrows={arrows}
                  marks={marks}
                  annotations={annotations}
                  onSight={onSight}
                  handle={graph}
                  tooltip={(row, index, time) =>
                    row.heading ? null : (
                      <RowTip row={row} shown={content(index)} time={time} meaning={meaning} />
                    )
                  }
                />
                <div className="graph-bar">
                  {byRequest ? (
                    <span className="muted">A colour is a request; processors are coloured by thread</span>
                  ) : (
                    <StateLegend states={LEGEND} />
                  )}
                  <span className="spacer" />
                  <SaveButtons
                    savers={graphSavers(() => ({
                      name: 'threads',
                      rows,
                      content,
                      range,
                      bends,
                      arrows: arrows?.arrows ?? [],
                      theme,
                      sight: graph.current?.inSight() ?? null,
                    }))}
                  />
                </div>
              </div>
            )
          }
          lower={
            selectedThread ? (
              <ThreadDetail key={selectedThread.row} thread={selectedThread} isShown={isShown} />
            ) : place.thread !== null ? (
              <EmptyNotice title="No such thread">
                The link is to a thread that this recording does not have; it may be of another recording.
              </EmptyNotice>
            ) : null
          }
        />
      </div>
    </div>
  );
}

const NO_MARKS: readonly GraphMark[] = [];

/** When the selected request ran is pointed out. */
function useRequestMark(id: number | null): readonly GraphMark[] {
  const answer = useAnswer<RequestDetail>(id === null ? null : { path: `/api/requests/${id}` });
  const request = id === null ? undefined : answer.value?.request;
  return useMemo(() => (request ? [{ begin: request.begin_ns, end: request.end_ns }] : NO_MARKS), [request]);
}

/** A row that no recording has: the selected thread is one that could not be found. */
const NO_SUCH_THREAD = Number.MAX_SAFE_INTEGER;

/** Links name a thread by host and number; here it becomes the selected row. */
function useThreadOfAddress(threads: readonly Thread[]): void {
  const { filters } = usePlace();
  const { tid, host } = filters;
  useEffect(() => {
    if (!tid) return;
    const found = threads.find(
      (thread) => thread.tid === Number(tid) && (host === undefined || thread.host === Number(host)),
    );
    adjust({ thread: found?.row ?? NO_SUCH_THREAD, filters: { tid: null, host: null } });
  }, [tid, host, threads]);
}
