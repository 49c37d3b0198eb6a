// The time line of one critical path, of a request or of a thread: all of it in one row, and a row per thread
// that it leads through, with arrows where it changes threads; above it the spans, if there are any.
import { useCallback, useMemo, useRef, useState } from 'react';
import { identityColour, textIdentity } from '../../draw/colours';
import { runAt, type Run } from '../../draw/pixel-rows';
import type { TimeRange } from '../../draw/time-scale';
import type { Path, Span } from '../../model/interface';
import { useAnnotations } from '../../model/annotations';
import { toRequest } from '../../model/jumps';
import { adjust, go, usePlace } from '../../model/place-store';
import { useHostName, useRecording } from '../../model/recording';
import { STATE_WORDS, wordDuration, wordShare } from '../../model/wording';
import { PlaceLink } from '../../parts/place-link';
import { SaveButtons } from '../../parts/save-buttons';
import { graphSavers } from '../../parts/time-graph/save-picture';
import { useTheme } from '../../parts/theme';
import { TimeGraph, type TimeGraphHandle } from '../../parts/time-graph/time-graph';
import {
  NOTHING,
  type GraphColumn,
  type GraphRow,
  type RowContent,
} from '../../parts/time-graph/graph-types';
import { Facts } from '../../parts/tooltip';
import {
  arrowsOfPath,
  nearSpans,
  runsOfPath,
  spanTree,
  stateInk,
  threadsOfPath,
  type PathRun,
} from './path-rows';
import { SegmentTip } from './segment-tip';

interface PathGraphRow extends GraphRow {
  runs: readonly Run[];
  kind: 'heading' | 'span' | 'path' | 'thread';
  span?: Span;
  total: number;
  own?: boolean;
}

interface PathGraphProps {
  name: string;
  path: Path;
  spans: readonly Span[];
  /** The span whose path it is, if it is a span's. */
  ownSpan: string | null;
  /** File name of saved pictures. */
  saveAs: string;
  range: TimeRange;
  bounds: TimeRange;
  whole: TimeRange;
  /** Pointed out over all rows. */
  mark?: TimeRange | null;
  onRange: (range: TimeRange) => void;
}

const FEW_SPANS = 6;

const NO_SPAN = '';

export function PathGraph(props: PathGraphProps) {
  const { path, range, bounds, whole, mark = null, onRange } = props;
  const ownSpan = props.ownSpan ?? NO_SPAN;
  const length = Math.max(1, path.end_ns - path.begin_ns);
  const { at, filters } = usePlace();
  const theme = useTheme();
  const { hosts } = useRecording();
  const hostName = useHostName();
  const graph = useRef<TimeGraphHandle>(null);
  const annotations = useAnnotations();
  const [selectedRow, setSelectedRow] = useState<string | null>('path');
  const allSpans = filters.spans === 'all';

  const tree = useMemo(() => spanTree(props.spans), [props.spans]);
  const near = useMemo(() => {
    const rows = tree.length <= FEW_SPANS ? tree : nearSpans(tree, ownSpan);
    return rows.length <= FEW_SPANS ? rows : rows.filter(({ span }) => span.span_id === ownSpan);
  }, [tree, ownSpan]);
  const spans = allSpans ? tree : near;

  const rows = useMemo<PathGraphRow[]>(() => {
    const found: PathGraphRow[] = [];
    if (spans.length > 0) {
      found.push(heading('Spans of its trace'));
      for (const { span, depth } of spans) {
        found.push({
          key: `span ${span.span_id}`,
          label: `${span.service} ${span.operation}`.trim() || `span ${span.span_id}`,
          kind: 'span',
          span,
          depth,
          height: 22,
          total: span.end_ns - span.begin_ns,
          own: span.span_id === ownSpan,
          runs: [{ begin: span.begin_ns, end: span.end_ns, value: textIdentity(span.service) }],
        });
      }
    }
    found.push(heading('Critical path, and the threads that it leads through'));
    found.push({
      key: 'path',
      label: 'all of it',
      kind: 'path',
      height: 30,
      total: length,
      runs: runsOfPath(path),
    });
    for (const thread of threadsOfPath(path)) {
      found.push({
        key: thread.key,
        label: `${thread.comm || 'unnamed'} (${thread.tid})${hosts.length > 1 ? ` on ${hostName(thread.host)}` : ''}`,
        kind: 'thread',
        depth: 1,
        total: thread.total,
        runs: thread.runs,
      });
    }
    return found;
  }, [spans, path, ownSpan, length, hosts, hostName]);

  const stateInkOf = useMemo(() => stateInk(theme), [theme]);
  const spanInkOf = useCallback(
    (value: number) => ({ colour: identityColour(theme, value), weight: 0.62 }),
    [theme],
  );
  const content = useCallback(
    (index: number): RowContent => {
      const row = rows[index];
      if (!row || row.kind === 'heading') return NOTHING;
      if (row.kind === 'span') return { kind: 'runs', runs: row.runs, inkOf: spanInkOf };
      return {
        kind: 'runs',
        runs: row.runs,
        inkOf: stateInkOf,
        textOf: (run) => {
          const { segment } = run as PathRun;
          return row.kind === 'path' ? segment.comm : STATE_WORDS[segment.state].title;
        },
      };
    },
    [rows, stateInkOf, spanInkOf],
  );
  const arrows = useMemo(() => {
    const rowOf = new Map(rows.map((row, index) => [row.key, index]));
    return { arrows: arrowsOfPath(path, rowOf) };
  }, [rows, path]);

  const marks = useMemo(() => (mark ? [mark] : []), [mark]);

  const columns: GraphColumn<PathGraphRow>[] = [
    {
      key: 'name',
      title: 'Span or thread',
      width: 250,
      cell: (row) => (
        <span style={{ paddingLeft: (row.depth ?? 0) * 12 }} title={row.label}>
          <RowName row={row} bounds={bounds} />
        </span>
      ),
    },
    {
      key: 'total',
      title: 'Time',
      width: 124,
      align: 'right',
      cell: (row) => (
        <>
          {wordDuration(row.total)}
          {row.kind === 'thread' && <span className="share-cell">{wordShare(row.total / length)}</span>}
          {row.kind !== 'thread' && <span className="share-cell" />}
        </>
      ),
    },
  ];

  return (
    <div className="graph-with-bar">
      <TimeGraph<PathGraphRow>
        name={props.name}
        rows={rows}
        columns={columns}
        content={content}
        range={range}
        bounds={bounds}
        onRange={onRange}
        at={at}
        onAt={(time) => adjust({ at: time })}
        selected={selectedRow}
        onSelect={(row) => setSelectedRow(row.key)}
        onOpen={(row) => openSpan(row, bounds)}
        arrows={arrows}
        marks={marks}
        annotations={annotations}
        handle={graph}
        tooltip={(row, _index, time) => {
          if (row.kind === 'heading') return null;
          if (row.span) return <SpanTip span={row.span} />;
          const run = runAt(row.runs, time) as PathRun | null;
          return run && <SegmentTip segment={run.segment} of={length} hostName={hostName} />;
        }}
      />
      <div className="graph-bar">
        {tree.length > near.length || allSpans ? (
          <button
            type="button"
            className="quiet-button"
            aria-pressed={allSpans}
            onClick={() => go({ filters: { spans: allSpans ? null : 'all' } })}
          >
            {allSpans ? 'Fewer spans' : `All ${tree.length} spans`}
          </button>
        ) : null}
        <button type="button" className="quiet-button" onClick={() => onRange(whole)}>
          Whole path
        </button>
        <SaveButtons
          savers={graphSavers(() => ({
            name: props.saveAs,
            rows,
            content,
            range,
            arrows: arrows.arrows,
            theme,
            sight: graph.current?.inSight() ?? null,
          }))}
        />
      </div>
    </div>
  );
}

/** A span that is a request of its own is a link to it. */
function RowName({ row, bounds }: { row: PathGraphRow; bounds: TimeRange }) {
  if (row.own || row.kind === 'path') return <strong>{row.label}</strong>;
  const id = row.span?.id;
  if (!row.span || id === null || id === undefined) return row.label;
  return <PlaceLink to={toRequest({ ...row.span, id }, bounds)}>{row.label}</PlaceLink>;
}

function heading(label: string): PathGraphRow {
  return { key: label, label, kind: 'heading', heading: true, height: 22, runs: [], total: 0 };
}

function openSpan(row: PathGraphRow, bounds: TimeRange): void {
  const id = row.span?.id;
  if (row.span && id !== null && id !== undefined) go(toRequest({ ...row.span, id }, bounds));
}

function SpanTip({ span }: { span: Span }) {
  return (
    <>
      <p className="tooltip-title">{span.operation || `span ${span.span_id}`}</p>
      <Facts
        facts={[
          ...(span.service ? ([['Service', span.service]] as [string, string][]) : []),
          ['Took', wordDuration(span.end_ns - span.begin_ns)],
          ['Span', <span className="mono">{span.span_id}</span>],
        ]}
      />
    </>
  );
}
