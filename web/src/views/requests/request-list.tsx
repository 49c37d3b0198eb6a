// The list of requests beside their critical paths, one row each, coloured by state: from their own begin
// (how do they differ?), in proportion (what do they consist of?) or by the clock (what did they do to each
// other?). By the clock, arrows lead from the request that held another one up to where that one went on.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Arrow } from '../../draw/arrows';
import type { RowSpan } from '../../draw/row-layout';
import { runAt } from '../../draw/pixel-rows';
import { fitInto, withMargin, type TimeRange } from '../../draw/time-scale';
import { useAnnotations } from '../../model/annotations';
import { STATE_NAMES, type Request } from '../../model/interface';
import { adjust, go, usePlace } from '../../model/place-store';
import { useHostName, useRecording, useSharedRange } from '../../model/recording';
import { isReport } from '../../model/report';
import { wordLength, wordTime } from '../../model/wording';
import { StateLegend } from '../../parts/state-bar';
import { useTheme } from '../../parts/theme';
import { SaveButtons } from '../../parts/save-buttons';
import { graphSavers } from '../../parts/time-graph/save-picture';
import { TimeGraph, type TimeGraphHandle } from '../../parts/time-graph/time-graph';
import {
  NOTHING,
  type GraphColumn,
  type GraphRow,
  type RowContent,
} from '../../parts/time-graph/graph-types';
import { usePaths, type RequestPages, type RequestQuery } from './request-pages';
import { saveRequests } from './save-requests';
import { WHOLE, runsInProportion, runsOfPath, stateInk, type PathRun } from './path-rows';
import { SegmentTip } from './segment-tip';

export type Alignment = 'start' | 'share' | 'clock';

interface RequestRow extends GraphRow {
  request: Request | null;
}

interface RequestListProps {
  query: RequestQuery;
  pages: RequestPages;
  total: number;
  alignment: Alignment;
  marked: ReadonlySet<number>;
}

export function RequestList({ query, pages, total, alignment, marked }: RequestListProps) {
  const place = usePlace();
  const theme = useTheme();
  const shared = useSharedRange();
  const { hosts } = useRecording();
  const hostName = useHostName();
  const graph = useRef<TimeGraphHandle>(null);
  const annotations = useAnnotations();
  const [sight, setSight] = useState<RowSpan>({ first: 0, end: 0 });
  const { requestAt, load, version: pageVersion } = pages;

  const rows = useMemo<RequestRow[]>(
    () =>
      Array.from({ length: total }, (_, index) => {
        const request = requestAt(index);
        return request
          ? { key: String(request.id), label: request.operation || request.comm, request }
          : { key: `not here ${index}`, label: '…', request: null };
      }),
    [total, requestAt, pageVersion],
  );
  const present = useMemo(
    () => STATE_NAMES.filter((state) => rows.some((row) => (row.request?.states[state] ?? 0) > 0)),
    [rows],
  );
  // From their begin: as long as the longest in sight, until the user zooms.
  const [ownRange, setOwnRange] = useState<TimeRange | null>(null);
  useEffect(() => setOwnRange(null), [alignment]);
  const longest = useMemo(
    () => rows.reduce((most, row) => Math.max(most, row.request?.duration_ns ?? 0), 1000),
    [rows],
  );
  const inProportion = alignment === 'share';
  const ownBounds = useMemo(
    () => ({ begin: 0, end: inProportion ? WHOLE : Math.ceil(longest * 1.02) }),
    [longest, inProportion],
  );
  const byClock = alignment === 'clock';
  const bounds = byClock ? shared.bounds : ownBounds;
  const range = byClock ? shared.range : fitInto(ownRange ?? ownBounds, ownBounds);

  const shownIds = useMemo(() => {
    const ids: number[] = [];
    for (let index = sight.first; index < Math.min(sight.end, rows.length); index += 1) {
      const request = rows[index]?.request;
      if (request) ids.push(request.id);
    }
    return ids;
  }, [rows, sight]);
  const shortest = useMemo(
    () =>
      rows
        .slice(sight.first, sight.end)
        .reduce((least, row) => Math.min(least, row.request?.duration_ns ?? least), longest),
    [rows, sight, longest],
  );
  const { pathOf, version: pathVersion } = usePaths(
    shownIds,
    inProportion ? { begin: 0, end: shortest } : range,
  );
  const inkOf = useMemo(() => stateInk(theme), [theme]);
  const runsOfRow = useMemo(() => {
    const kept = new Map<number, PathRun[]>();
    return (request: Request): PathRun[] | null => {
      const known = kept.get(request.id);
      if (known) return known;
      const path = pathOf(request.id);
      if (!path) return null;
      const runs =
        alignment === 'share'
          ? runsInProportion(path)
          : runsOfPath(path, alignment === 'start' ? path.begin_ns : 0);
      kept.set(request.id, runs);
      return runs;
    };
  }, [pathOf, pathVersion, alignment]);
  const content = useCallback(
    (index: number): RowContent => {
      const request = rows[index]?.request;
      const runs = request ? runsOfRow(request) : null;
      return runs ? { kind: 'runs', runs, inkOf } : NOTHING;
    },
    [rows, runsOfRow, inkOf],
  );

  const onSight = useCallback(
    (next: RowSpan) => {
      setSight(next);
      load(next);
    },
    [load],
  );

  const arrows = useMemo(() => {
    if (!byClock) return null;
    const rowOf = new Map<number, number>();
    rows.forEach((row, index) => {
      if (row.request) rowOf.set(row.request.id, index);
    });
    const found: Arrow[] = [];
    for (let index = sight.first; index < Math.min(sight.end, rows.length); index += 1) {
      const request = rows[index]?.request;
      const path = request ? pathOf(request.id) : null;
      for (const segment of path?.segments ?? []) {
        const fromRow = segment.blocked_by === null ? undefined : rowOf.get(segment.blocked_by);
        if (fromRow === undefined || fromRow === index) continue;
        found.push({ fromRow, fromTime: segment.end_ns, toRow: index, toTime: segment.end_ns });
      }
    }
    return { arrows: found };
  }, [byClock, rows, sight, pathOf, pathVersion]);

  const sorted = (name: string) => (query.sort === name ? (query.order as 'asc' | 'desc') : ('no' as const));
  const sort = (name: string, first: 'asc' | 'desc') => {
    // A report has the list in one order.
    if (isReport) return undefined;
    return () => {
      const present = sorted(name);
      const order = present === 'no' ? first : present === 'asc' ? 'desc' : 'asc';
      go({ filters: { sort: name, order } });
    };
  };
  const columns: GraphColumn<RequestRow>[] = [
    ...(isReport ? [] : [markColumn(marked)]),
    {
      key: 'operation',
      title: 'Operation',
      width: 220,
      sorted: sorted('operation'),
      onSort: sort('operation', 'asc'),
      cell: ({ request }) =>
        request ? (
          <span title={`trace ${request.trace_id}, span ${request.span_id}`}>
            {request.operation || request.comm}{' '}
            <span className="muted">
              {request.service}
              {hosts.length > 1 ? ` on ${hostName(request.host)}` : ''}
            </span>
          </span>
        ) : (
          <span className="muted">…</span>
        ),
    },
    {
      key: 'begin',
      title: 'Begin',
      width: 92,
      align: 'right',
      sorted: sorted('begin'),
      onSort: sort('begin', 'asc'),
      cell: ({ request }) => request && <span className="muted">{wordTime(request.begin_ns, 1e6)}</span>,
    },
    {
      key: 'duration',
      title: 'Duration',
      width: 96,
      align: 'right',
      sorted: sorted('duration'),
      onSort: sort('duration', 'desc'),
      cell: ({ request }) => request && wordLength(request),
    },
    {
      key: 'percentile',
      title: 'Perc.',
      width: 58,
      align: 'right',
      cell: ({ request }) =>
        request && (
          <span className="muted" title="Percentile among the requests of its operation">
            {request.percentile === undefined ? '–' : Math.floor(request.percentile * 10) / 10}
          </span>
        ),
    },
  ];

  const select = (row: RequestRow) => {
    if (!row.request) return;
    const { id, begin_ns, end_ns } = row.request;
    go({
      request: id,
      filters: { focus: null, compare: null },
      ...(byClock
        ? {}
        : { range: withMargin({ begin: begin_ns, end: end_ns }, 0.1, shared.bounds), at: null }),
    });
  };

  return (
    <div className="graph-with-bar">
      <TimeGraph<RequestRow>
        name="Requests and their critical paths"
        rows={rows}
        columns={columns}
        content={content}
        range={range}
        bounds={bounds}
        onRange={byClock ? shared.setRange : setOwnRange}
        at={byClock ? place.at : null}
        onAt={byClock ? (time) => adjust({ at: time }) : undefined}
        selected={place.request === null ? null : String(place.request)}
        onSelect={select}
        onMark={isReport ? undefined : ({ request }) => request && toggleMark(marked, request.id)}
        arrows={arrows}
        annotations={byClock ? annotations : undefined}
        wordMark={inProportion ? (position) => `${Math.round((position / WHOLE) * 1000) / 10} %` : undefined}
        onSight={onSight}
        tooltip={({ request }, _index, time) => {
          const runs = request ? runsOfRow(request) : null;
          const run = runs ? (runAt(runs, time) as PathRun | null) : null;
          return run && request ? (
            <SegmentTip segment={run.segment} of={request.duration_ns} hostName={hostName} />
          ) : null;
        }}
        handle={graph}
      />
      <div className="graph-bar">
        <StateLegend states={present} />
        <span className="spacer" />
        <SaveButtons
          savers={{
            // A picture of proportions has no axis of times.
            ...(inProportion
              ? {}
              : graphSavers(() => ({
                  name: 'requests',
                  rows,
                  content,
                  range,
                  arrows: arrows?.arrows ?? [],
                  theme,
                  sight: graph.current?.inSight() ?? null,
                }))),
            // A report holds the slowest requests only.
            ...(isReport
              ? {}
              : { csv: () => void saveRequests(query, total, hosts.length > 1 ? hostName : null) }),
          }}
        />
      </div>
    </div>
  );
}

function toggleMark(marked: ReadonlySet<number>, id: number): void {
  const next = new Set(marked);
  if (!next.delete(id)) next.add(id);
  adjust({ filters: { marked: [...next].sort((a, b) => a - b).join('.') } });
}

/** Marked requests are compared with others; a report has nobody to compare them. */
function markColumn(marked: ReadonlySet<number>): GraphColumn<RequestRow> {
  return {
    key: 'mark',
    title: 'Marked',
    titleIsHidden: true,
    width: 34,
    cell: ({ request }) =>
      request && (
        <input
          type="checkbox"
          className="mark-box"
          aria-label={`Mark request ${request.id} for comparison`}
          tabIndex={-1}
          checked={marked.has(request.id)}
          onClick={(event) => event.stopPropagation()}
          onChange={() => toggleMark(marked, request.id)}
        />
      ),
  };
}
