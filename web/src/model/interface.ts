// The shapes that the server's interface (/api) answers with, written down once.
// All times are integers in nanoseconds since the recording's begin (safe in doubles up to 104 days),
// durations are nanoseconds; names are the wire's own. Not a place for anything that the browser adds.

export const STATE_NAMES = [
  'RUNNING',
  'PREEMPTED',
  'WAIT_CPU',
  'INTERRUPTED',
  'BLOCKED',
  'TIMER',
  'BLOCK_DEVICE',
  'NETWORK',
  'USER_INPUT',
  'IPI',
  'UNKNOWN',
  'BLOCKED_BY_REQUEST',
] as const;

export type StateName = (typeof STATE_NAMES)[number];
export type TimeByState = Partial<Record<StateName, number>>;

export interface Host {
  id: number;
  name: string;
  has_kernel: boolean;
  cpus?: number[];
}

export interface Trace {
  path: string;
  format: string;
  host: number | string;
  kind: string;
  begin_ns: number;
  end_ns: number;
  packets: number;
  lost_events: number;
}

export interface Diagnostic {
  code: string;
  severity: string;
  message: string;
  count?: number;
}

export interface Recording {
  name: string;
  paths: string[];
  origin_ns: string;
  duration_ns: number;
  hosts: Host[];
  traces: Trace[];
  diagnostics: Diagnostic[];
  version: string;
  /** Files of spans that were read; 0: there are no services to rank. */
  span_files?: number;
  states: StateName[];
}

export type JobState = 'waiting' | 'running' | 'done' | 'failed';

export interface Job {
  id: string;
  state: JobState;
  done: number;
  message: string | null;
  /** Whether it was asked for (or is begun on its own); others wait until somebody asks. */
  wanted?: boolean;
}

export interface Progress {
  jobs: Job[];
  done: boolean;
}

export interface Thread {
  row: number;
  host: number;
  tid: number;
  pid: number | null;
  comm: string;
  begin_ns: number;
  end_ns: number;
  states: TimeByState;
  serves_requests: boolean;
}

export interface Processor {
  row: number;
  host: number;
  cpu: number;
  busy_ns: number;
}

export interface Interval {
  begin_ns: number;
  end_ns: number;
  value: number;
}

export interface IntervalAnswer {
  rows: Interval[][];
  complete: boolean;
}

export interface WakeUp {
  from_row: number;
  from_ns: number;
  to_row: number;
  to_ns: number;
}

export interface Usage {
  cpus: { host: number; cpu: number; values: number[] }[];
  total: number[];
}

export interface PathSegment {
  begin_ns: number;
  end_ns: number;
  host: number;
  tid: number;
  comm: string;
  state: StateName;
  depth: number;
  detail: string;
  blocked_by: number | null;
}

export interface PathLink {
  at_ns: number;
  from_host: number;
  from_tid: number;
  to_host: number;
  to_tid: number;
  kind: string;
}

export interface Path {
  host: number;
  tid: number;
  begin_ns: number;
  end_ns: number;
  segments: PathSegment[];
  links: PathLink[];
  states: TimeByState;
}

export interface Request {
  id: number;
  host: number;
  trace_id: string;
  span_id: string;
  parent_span_id?: string | null;
  service: string;
  operation: string;
  comm: string;
  tids: number[];
  begin_ns: number;
  end_ns: number;
  duration_ns: number;
  placed_by: string;
  states: TimeByState;
  own_states: TimeByState;
  percentile: number;
}

export interface RequestPage {
  total: number;
  requests: Request[];
}

export interface Wait {
  begin_ns: number;
  end_ns: number;
  tid: number;
  on: string;
  waker_tid?: number;
  waker_comm?: string;
  call?: string;
  mostly_tid?: number | null;
  mostly_state?: StateName | null;
}

export interface Span {
  id: number | null;
  span_id: string;
  parent_span_id?: string | null;
  service: string;
  operation: string;
  host: number;
  begin_ns: number;
  end_ns: number;
}

export interface RequestDetail {
  request: Request;
  path: Path;
  waits: Wait[];
  blocked_by: { id: number | null; described: string; ns: number }[];
  verdict: string;
  spans: Span[];
}

export interface PathsAnswer {
  paths: { id: number; path: Path }[];
}

export interface Band {
  from_percentile: number;
  to_percentile: number;
  count: number;
  min_ns: number;
  max_ns: number;
  states: TimeByState;
  own_states: TimeByState;
}

export interface Operation {
  service: string;
  operation: string;
  comm: string;
  count: number;
  p50_ns: number;
  p90_ns: number;
  p99_ns: number;
  max_ns: number;
  bands: Band[];
}

export interface Distribution {
  edges_ns: number[];
  counts: number[];
}

export type RequestGroup =
  { requests: number[] } | { percentiles: [number, number]; service: string; operation: string };

export interface Comparison {
  one: { count: number; mean_ns: number };
  other: { count: number; mean_ns: number };
  differences: {
    state: StateName;
    comm: string;
    detail: string;
    one_ns: number;
    other_ns: number;
    difference_ns: number;
  }[];
}

export interface Evidence {
  text: string;
  begin_ns?: number | null;
  end_ns?: number | null;
  tid?: number | null;
  request: number | null;
}

export type Severity = 'high' | 'medium' | 'low';

export interface Finding {
  host: number;
  id: string;
  severity: Severity;
  title: string;
  explanation: string;
  advice: string;
  share: number;
  begin_ns: number;
  end_ns: number;
  evidence: Evidence[];
}

export interface Findings {
  findings: Finding[];
  examined?: number;
  requests?: number;
}

export interface CallingContext {
  rank: number;
  path: string[];
  count: number;
  inclusive: number;
  exclusive: number;
  inclusive_normalized: number;
  exclusive_normalized: number;
  distance: number;
  critical: number;
  drag: number;
  inclusive_p50: number;
  inclusive_p99: number;
}

/** Calls that came to a service, and its own time on the requests' critical paths. */
export interface Served {
  count: number;
  errors: number;
  mean: number;
  p50: number;
  p99: number;
  max: number;
  critical: number;
  critical_share: number;
}

export interface ServiceOfMap extends Served {
  service: string;
}

export interface ServiceCall extends Served {
  caller: string;
  callee: string;
}

export interface ServiceMapAnswer {
  services: ServiceOfMap[];
  calls: ServiceCall[];
}

export interface EventLine {
  at_ns: number;
  host: number;
  stream: number | string;
  cpu: number | null;
  name: string;
  tid: number | null;
  text: string;
}

export interface EventPage {
  events: EventLine[];
  has_earlier: boolean;
  has_later: boolean;
  /** Where a search ended before it had found enough; it can go on from there. */
  searched_from_ns: number | null;
  searched_to_ns: number | null;
}

export interface ProcessorUse {
  cpus: { host?: string; cpu: number; busy_ns: number; percent: number }[];
  threads: { host?: string; tid: number; comm: string; busy_ns: number; percent: number }[];
}

export interface InputOutput {
  processes: {
    host?: string;
    pid: number;
    comm: string;
    read_bytes: number;
    write_bytes: number;
    reads: number;
    writes: number;
  }[];
  files: { host?: string; path: string; read_bytes: number; write_bytes: number }[];
}

export const LATENCY_KINDS = ['syscall', 'irq', 'softirq', 'block', 'wakeup'] as const;
export type LatencyKind = (typeof LATENCY_KINDS)[number];

export interface Latency {
  kind: LatencyKind;
  entries: {
    host?: string;
    name: string;
    count: number;
    min_ns: number;
    mean_ns: number;
    p50_ns: number;
    p99_ns: number;
    max_ns: number;
    total_ns: number;
  }[];
}

export interface EventCounts {
  events: number;
  lost: number;
  packets: number;
  streams: number;
  by: Record<string, number>;
}
