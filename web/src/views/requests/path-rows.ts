// A critical path as rows and runs of a time graph: all of it in one row, or one row per thread with arrows
// where it goes from one to the other. Pure; values of runs are numbers of STATE_NAMES.
import { stateColour, stateWeight, type ThemeName } from '../../draw/colours';
import type { Ink, Run } from '../../draw/pixel-rows';
import { arrowsBetweenRows, type Arrow } from '../../draw/arrows';
import { STATE_NAMES, type Path, type PathSegment, type Span } from '../../model/interface';

export interface PathRun extends Run {
  segment: PathSegment;
}

export interface ThreadOfPath {
  key: string;
  host: number;
  tid: number;
  /** The name that it has for most of this time: a new thread begins under its creator's. */
  comm: string;
  /** Time of the path in this thread. */
  total: number;
  runs: PathRun[];
}

export function threadKey(host: number, tid: number): string {
  return `${host}:${tid}`;
}

export function runsOfPath(path: Path, shift = 0, scale = 1): PathRun[] {
  return path.segments.map((segment) => ({
    begin: (segment.begin_ns - shift) * scale,
    end: (segment.end_ns - shift) * scale,
    value: STATE_NAMES.indexOf(segment.state),
    segment,
  }));
}

/** What a whole path is as long as in a picture of proportions. */
export const WHOLE = 1_000_000;

export function runsInProportion(path: Path): PathRun[] {
  return runsOfPath(path, path.begin_ns, WHOLE / Math.max(1, path.end_ns - path.begin_ns));
}

/** The threads of a path: the request's own first, then in the order of time in which the path meets them. */
export function threadsOfPath(path: Path): ThreadOfPath[] {
  const threads = new Map<string, ThreadOfPath & { named: Map<string, number> }>();
  const own = threadKey(path.host, path.tid);
  for (const run of runsOfPath(path)) {
    const { host, tid, comm } = run.segment;
    const key = threadKey(host, tid);
    let thread = threads.get(key);
    if (!thread) {
      thread = { key, host, tid, comm, total: 0, runs: [], named: new Map() };
      threads.set(key, thread);
    }
    thread.named.set(comm, (thread.named.get(comm) ?? 0) + run.end - run.begin);
    thread.total += run.end - run.begin;
    thread.runs.push(run);
  }
  const all = [...threads.values()].map(({ named, ...thread }) => ({ ...thread, comm: longest(named) }));
  return [...all.filter((one) => one.key === own), ...all.filter((one) => one.key !== own)];
}

/** The name of the most time; none only where there is no other. */
function longest(named: ReadonlyMap<string, number>): string {
  const [first] = [...named].sort(([a, one], [b, other]) => Number(!a) - Number(!b) || other - one);
  return first?.[0] ?? '';
}

export function arrowsOfPath(path: Path, rowOf: ReadonlyMap<string, number>): Arrow[] {
  return arrowsBetweenRows(
    path.links,
    (link) => ({
      from: threadKey(link.from_host, link.from_tid),
      fromTime: link.at_ns,
      to: threadKey(link.to_host, link.to_tid),
      toTime: link.at_ns,
    }),
    rowOf,
  );
}

/** The segment at a time; at the path's very end the last one. */
export function segmentAt(path: Path, time: number): PathSegment | null {
  const found = path.segments.find((segment) => segment.begin_ns <= time && time < segment.end_ns);
  const last = path.segments[path.segments.length - 1];
  return found ?? (last && time === last.end_ns ? last : null);
}

export interface SpanRow {
  span: Span;
  depth: number;
}

/** Spans in the order of a tree: callers before what they call, siblings by time. Circles are cut. */
export function spanTree(spans: readonly Span[]): SpanRow[] {
  const known = new Set(spans.map((span) => span.span_id));
  const children = new Map<string, Span[]>();
  const roots: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.begin_ns - b.begin_ns || b.end_ns - a.end_ns)) {
    const parent = span.parent_span_id;
    if (!parent || !known.has(parent) || parent === span.span_id) roots.push(span);
    else children.set(parent, [...(children.get(parent) ?? []), span]);
  }
  const rows: SpanRow[] = [];
  const placed = new Set<Span>();
  const place = (span: Span, depth: number) => {
    if (placed.has(span)) return;
    placed.add(span);
    rows.push({ span, depth });
    for (const child of children.get(span.span_id) ?? []) place(child, depth + 1);
  };
  for (const root of roots) place(root, 0);
  for (const span of spans) place(span, 0);
  return rows;
}

/** The callers of a span, itself and what it calls directly: what fits above its path. */
export function nearSpans(rows: readonly SpanRow[], spanId: string): SpanRow[] {
  const parents = new Map(rows.map(({ span }) => [span.span_id, span.parent_span_id ?? null]));
  const near = new Set<string>([spanId]);
  for (let caller = parents.get(spanId); caller && !near.has(caller); caller = parents.get(caller)) {
    near.add(caller);
  }
  return rows.filter(({ span }) => near.has(span.span_id) || span.parent_span_id === spanId);
}

export function stateInk(theme: ThemeName): (value: number) => Ink {
  const inks = STATE_NAMES.map((state) => ({
    colour: stateColour(theme, state),
    weight: stateWeight(state),
  }));
  const nothing: Ink = { colour: 0, weight: 0 };
  return (value) => inks[value] ?? nothing;
}
