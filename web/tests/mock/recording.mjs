// A made-up recording for the mock server: a shop's frontend calls an orders service whose processor quota
// bites for a while, with a lock, a disk and a slow neighbour besides. Deterministic; the same numbers at
// every start. Not a model of anything real, but consistent: paths, threads, processors and events agree.

/** @type {import('../../src/model/interface').StateName[]} */
export const STATES = [
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
  'BLOCKED_BY_REQUEST',
  'UNKNOWN',
];
const MS = 1_000_000;
export const DURATION = 4_000 * MS;
const QUOTA = { begin: 1_200 * MS, end: 2_800 * MS, period: 100 * MS, runs: 18 * MS };

let seed = 20260711;
function random() {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 4294967296;
}
const between = (low, high) => Math.round(low + random() * (high - low));

/** @type {import('./made-up').MadeThread[]} */
export const threads = [];
function thread(tid, pid, comm, serves) {
  /** @type {import('./made-up').MadeThread} */
  const one = {
    row: threads.length,
    host: 0,
    tid,
    pid,
    comm,
    begin_ns: 0,
    end_ns: DURATION,
    states: {},
    serves_requests: serves,
    intervals: [],
    values: [],
    free: 0,
    works: [],
  };
  threads.push(one);
  return one;
}
const frontends = Array.from({ length: 8 }, (_, index) =>
  thread(101 + index, 100, `http-${index + 1}`, true),
);
const workers = Array.from({ length: 12 }, (_, index) =>
  thread(201 + index, 200, `orders-${index + 1}`, true),
);
const collector = thread(230, 200, 'GC Thread#0', false);
const redis = thread(300, 300, 'redis-server', false);
const backup = thread(400, 400, 'backup', false);
for (let index = 0; index < 40; index += 1)
  thread(1000 + index, 2, `kworker/${index % 4}:${index >> 2}`, false);

/** @type {import('../../src/model/interface').WakeUp[]} */
const arrows = [];
/**
 * @param {import('./made-up').MadeThread} one
 * @param {number} begin
 * @param {number} end
 * @param {import('../../src/model/interface').StateName} state
 */
const put = (one, begin, end, state, detail = '') => {
  if (end > begin) one.intervals.push({ begin_ns: begin, end_ns: end, state, detail });
  return end;
};
const wake = (from, at, to, ran) =>
  arrows.push({ from_row: from.row, from_ns: at, to_row: to.row, to_ns: ran, waited: 'BLOCKED' });

/** Runs for a while from a time on; while the quota is used up, the thread stands still. */
function runOrders(one, begin, length) {
  let time = begin;
  let left = length;
  while (left > 0) {
    const inPeriod = (time - QUOTA.begin) % QUOTA.period;
    const limited = time >= QUOTA.begin && time < QUOTA.end;
    if (limited && inPeriod >= QUOTA.runs) {
      time = put(
        one,
        time,
        time + QUOTA.period - inPeriod,
        'PREEMPTED',
        'no other thread ran: held back by its control group',
      );
      continue;
    }
    const most = limited ? Math.min(left, QUOTA.runs - inPeriod) : left;
    time = put(one, time, time + most, 'RUNNING');
    left -= most;
  }
  return time;
}

/** @type {import('./made-up').MadeRequest[]} */
const requests = [];
/**
 * @param {import('./made-up').MadeThread} one
 * @param {import('./made-up').Stretch} interval
 * @param {number} depth
 * @param {number | null} blocked
 * @returns {import('../../src/model/interface').PathSegment}
 */
const segment = (one, interval, depth, blocked = null) => ({
  begin_ns: interval.begin_ns,
  end_ns: interval.end_ns,
  host: 0,
  tid: one.tid,
  comm: one.comm,
  state: blocked === null ? interval.state : 'BLOCKED_BY_REQUEST',
  depth,
  detail: interval.detail,
  blocked_by: blocked,
});
const hex = (length) => Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join('');

let clock = 5 * MS;
let lockFree = 0;
/** @type {{ worker: import('./made-up').MadeThread, id: number } | null} */
let lockHolder = null;
while (clock < DURATION - 150 * MS) {
  clock += between(2 * MS, 11 * MS);
  const front = frontends.reduce((best, one) => (one.free < best.free ? one : best));
  const worker = workers.reduce((best, one) => (one.free < best.free ? one : best));
  const begin = Math.max(clock, front.free + 20_000);
  if (begin > DURATION - 150 * MS) break;
  const traceId = hex(32);
  const reading = random() < 0.7;
  const called = put(front, begin, begin + between(150_000, 400_000), 'RUNNING');
  const firstWorker = worker.intervals.length;
  let time = Math.max(called + between(20_000, 90_000), worker.free + 20_000);
  const workBegin = time;
  wake(front, called, worker, time);
  /** @type {number | null} */
  let blockedBy = null;
  /** @type {any} */
  let lockWait = null;
  /** @type {import('../../src/model/interface').PathLink[]} */
  const links = [
    { at_ns: called, from_host: 0, from_tid: front.tid, to_host: 0, to_tid: worker.tid, kind: 'wake-up' },
  ];
  time = runOrders(worker, time, between(800_000, 3 * MS));
  if (random() < 0.35 && lockFree > time && lockHolder) {
    lockWait = { begin: time, end: lockFree, holder: lockHolder };
    time = put(worker, time, lockFree, 'BLOCKED', `futex, woken by ${lockHolder.worker.comm}`);
    wake(lockHolder.worker, time, worker, time + 30_000);
    time = put(worker, time, time + 30_000, 'WAIT_CPU');
    blockedBy = lockHolder.id;
  }
  if (reading) {
    const asked = time;
    const served = Math.max(asked + 60_000, redis.free);
    wake(worker, asked, redis, served);
    const answered = put(redis, served, served + between(80_000, 300_000), 'RUNNING');
    redis.free = answered + 5_000;
    time = put(worker, asked, answered + 40_000, 'NETWORK', 'recvfrom 10.0.0.7:6379');
  } else {
    time = put(worker, time, time + between(600_000, 7 * MS), 'BLOCK_DEVICE', 'fsync, vda');
  }
  time = runOrders(worker, time, between(500_000, 2 * MS));
  const workEnd = time;
  worker.free = workEnd;
  const answered = put(front, called, workEnd + 25_000, 'BLOCKED', `epoll_wait, woken by ${worker.comm}`);
  wake(worker, workEnd, front, answered);
  links.push({
    at_ns: workEnd,
    from_host: 0,
    from_tid: worker.tid,
    to_host: 0,
    to_tid: front.tid,
    kind: 'wake-up',
  });
  const end = put(front, answered, answered + between(60_000, 200_000), 'RUNNING');
  front.free = end;
  const id = requests.length;
  const inner = worker.intervals.slice(firstWorker);
  const outerSpan = hex(16);
  const innerSpan = hex(16);
  const innerSegments = inner.flatMap((interval) => {
    if (!lockWait || interval.state !== 'BLOCKED' || interval.begin_ns !== lockWait.begin)
      return [segment(worker, interval, 0)];
    const part = lockWait.holder.worker.intervals.filter(
      (other) => other.end_ns > lockWait.begin && other.begin_ns < lockWait.end,
    );
    return part.map((other) =>
      segment(
        lockWait.holder.worker,
        {
          ...other,
          begin_ns: Math.max(other.begin_ns, lockWait.begin),
          end_ns: Math.min(other.end_ns, lockWait.end),
        },
        1,
        other.state === 'RUNNING' ? blockedBy : null,
      ),
    );
  });
  const filled = fill(innerSegments, workBegin, workEnd, worker);
  /** @type {import('../../src/model/interface').PathLink[]} */
  const innerLinks = lockWait
    ? [
        {
          at_ns: lockWait.begin,
          from_host: 0,
          from_tid: worker.tid,
          to_host: 0,
          to_tid: lockWait.holder.worker.tid,
          kind: 'wait',
        },
        {
          at_ns: lockWait.end,
          from_host: 0,
          from_tid: lockWait.holder.worker.tid,
          to_host: 0,
          to_tid: worker.tid,
          kind: 'wake-up',
        },
      ]
    : [];
  const outer = [
    segment(front, { begin_ns: begin, end_ns: called, state: 'RUNNING', detail: '' }, 0),
    ...(workBegin > called
      ? [segment(worker, { begin_ns: called, end_ns: workBegin, state: 'WAIT_CPU', detail: '' }, 1)]
      : []),
    ...filled.map((one) => ({ ...one, depth: one.depth + 1 })),
    segment(front, { begin_ns: workEnd, end_ns: answered, state: 'WAIT_CPU', detail: '' }, 0),
    segment(front, { begin_ns: answered, end_ns: end, state: 'RUNNING', detail: '' }, 0),
  ];
  const operation = reading ? 'GET /orders' : 'POST /orders';
  requests.push({
    ...known(path(front, begin, end, outer, [...links, ...innerLinks])),
    trace_id: traceId,
    id,
    span_id: outerSpan,
    service: 'frontend',
    operation,
    comm: front.comm,
    tids: [front.tid],
  });
  requests.push({
    ...known(path(worker, workBegin, workEnd, filled, innerLinks)),
    trace_id: traceId,
    id: id + 1,
    span_id: innerSpan,
    parent_span_id: outerSpan,
    service: 'orders',
    operation: reading ? 'load order' : 'store order',
    comm: worker.comm,
    tids: [worker.tid],
  });
  front.works.push({ begin_ns: begin, end_ns: end, value: id });
  worker.works.push({ begin_ns: workBegin, end_ns: workEnd, value: id + 1 });
  if (lockFree < workEnd && random() < 0.5) {
    lockFree = Math.max(lockFree, workEnd - 200_000);
    lockHolder = { worker, id: id + 1 };
  }
}

/**
 * @param {import('../../src/model/interface').PathSegment[]} segments
 * @param {number} begin
 * @param {number} end
 * @param {import('./made-up').MadeThread} own
 */
function fill(segments, begin, end, own) {
  /** @type {import('../../src/model/interface').PathSegment[]} */
  const all = [];
  let time = begin;
  for (const one of segments.filter((each) => each.end_ns > each.begin_ns)) {
    if (one.begin_ns > time)
      all.push(segment(own, { begin_ns: time, end_ns: one.begin_ns, state: 'WAIT_CPU', detail: '' }, 0));
    if (one.end_ns <= time) continue;
    all.push({ ...one, begin_ns: Math.max(time, one.begin_ns) });
    time = one.end_ns;
  }
  if (time < end) all.push(segment(own, { begin_ns: time, end_ns: end, state: 'WAIT_CPU', detail: '' }, 0));
  return all;
}
/**
 * @param {import('./made-up').MadeThread} one
 * @param {number} begin
 * @param {number} end
 * @param {import('../../src/model/interface').PathSegment[]} segments
 * @param {import('../../src/model/interface').PathLink[]} links
 * @returns {import('../../src/model/interface').Path}
 */
function path(one, begin, end, segments, links) {
  return { host: 0, tid: one.tid, begin_ns: begin, end_ns: end, segments, links, states: sum(segments) };
}
/**
 * What a request has by its path; its percentile is known once all are there.
 * @param {import('../../src/model/interface').Path} path
 */
function known(path) {
  const { begin_ns, end_ns, states } = path;
  const own = path.segments.map((each) => (each.depth === 0 ? each : { ...each, state: 'BLOCKED' }));
  return {
    host: 0,
    shown: /** @type {const} */ ('whole'),
    placed_by: /** @type {const} */ ('attach'),
    begin_ns,
    end_ns,
    duration_ns: end_ns - begin_ns,
    states,
    own_states: sum(own),
    percentile: 0,
    path,
  };
}
export function sum(segments) {
  /** @type {import('../../src/model/interface').TimeByState} */
  const states = {};
  for (const one of segments) states[one.state] = (states[one.state] ?? 0) + one.end_ns - one.begin_ns;
  return states;
}

// The neighbours: a backup that reads, a collector now and then, and kernel threads that hardly run.
for (let time = 300 * MS; time < DURATION - 50 * MS;) {
  time = put(backup, time, time + between(2 * MS, 9 * MS), 'RUNNING');
  time = put(backup, time, time + between(4 * MS, 20 * MS), 'BLOCK_DEVICE', 'read, vda');
}
for (let time = 150 * MS; time < DURATION - 50 * MS; time += between(180 * MS, 420 * MS)) {
  put(collector, time, time + between(3 * MS, 12 * MS), 'RUNNING');
}
for (const one of threads.filter(({ pid }) => pid === 2)) {
  for (let time = between(MS, 200 * MS); time < DURATION - 10 * MS; time += between(60 * MS, 300 * MS)) {
    put(one, time, time + between(20_000, 180_000), 'RUNNING');
  }
}
for (const one of threads) {
  one.intervals.sort((a, b) => a.begin_ns - b.begin_ns);
  /** @type {import('./made-up').Stretch[]} */
  const all = [];
  let time = 0;
  for (const interval of one.intervals) {
    if (interval.begin_ns < time) continue;
    if (interval.begin_ns > time)
      all.push({ begin_ns: time, end_ns: interval.begin_ns, state: 'BLOCKED', detail: '' });
    all.push(interval);
    time = interval.end_ns;
  }
  if (time < DURATION) all.push({ begin_ns: time, end_ns: DURATION, state: 'BLOCKED', detail: '' });
  one.intervals = all;
  one.states = sum(all);
  one.values = all.map(({ begin_ns, end_ns, state }) => ({ begin_ns, end_ns, value: STATES.indexOf(state) }));
}

// Processors: every running stretch goes to one that is free then; overlaps beyond four are not shown.
/** @type {import('./made-up').MadeProcessor[]} */
export const cpus = Array.from({ length: 4 }, (_, cpu) => ({
  row: cpu,
  host: 0,
  cpu,
  busy_ns: 0,
  known_ns: DURATION,
  values: [],
  free: 0,
}));
const running = threads
  .flatMap((one) =>
    one.intervals
      .filter(({ state }) => state === 'RUNNING')
      .map((interval) => ({ ...interval, tid: one.tid })),
  )
  .sort((a, b) => a.begin_ns - b.begin_ns);
for (const stretch of running) {
  const cpu = cpus.find((each) => each.free <= stretch.begin_ns);
  if (!cpu) continue;
  if (stretch.begin_ns > cpu.free)
    cpu.values.push({ begin_ns: cpu.free, end_ns: stretch.begin_ns, value: 0 });
  cpu.values.push({ begin_ns: stretch.begin_ns, end_ns: stretch.end_ns, value: stretch.tid });
  cpu.busy_ns += stretch.end_ns - stretch.begin_ns;
  cpu.free = stretch.end_ns;
}
for (const cpu of cpus)
  if (cpu.free < DURATION) cpu.values.push({ begin_ns: cpu.free, end_ns: DURATION, value: 0 });

// Percentiles are those of each request's own operation.
const operationKey = (one) => `${one.service}\n${one.operation}`;
/** @type {Map<string, import('./made-up').MadeRequest[]>} */
export const groups = new Map();
for (const one of requests) {
  groups.set(operationKey(one), [...(groups.get(operationKey(one)) ?? []), one]);
}
for (const group of groups.values()) {
  group.sort((a, b) => a.duration_ns - b.duration_ns);
  group.forEach((one, index) => {
    one.percentile = (100 * (index + 1)) / group.length;
  });
}
arrows.sort((a, b) => a.from_ns - b.from_ns);

/** @type {import('../../src/model/interface').EventLine[]} */
export const events = cpus
  .flatMap((cpu) =>
    cpu.values.map(({ begin_ns, value }, index) => {
      const before = cpu.values[index - 1]?.value ?? 0;
      const name = (tid) => threads.find((one) => one.tid === tid)?.comm ?? 'swapper';
      return {
        at_ns: begin_ns,
        host: 0,
        host_name: 'shop-1',
        stream: `channel0_${cpu.cpu}`,
        cpu: cpu.cpu,
        name: 'sched_switch',
        tid: before,
        text: `{ prev_comm = "${name(before)}", prev_tid = ${before}, prev_state = 1 }, { next_comm = "${name(value)}", next_tid = ${value} }`,
      };
    }),
  )
  .concat(
    requests.flatMap((one) =>
      [
        { name: 'start_span', at_ns: one.begin_ns },
        { name: 'end_span', at_ns: one.end_ns },
      ].map(({ name, at_ns }) => ({
        at_ns,
        host: 0,
        host_name: 'shop-1',
        stream: 'spans_0',
        cpu: 0,
        name: `slowpath_span:${name}`,
        tid: one.tids[0],
        text: `{ trace_id_high = 0x${one.trace_id.slice(0, 16)}, trace_id_low = 0x${one.trace_id.slice(16)}, span_id = 0x${one.span_id} }`,
      })),
    ),
  )
  .sort((a, b) => a.at_ns - b.at_ns);

export { requests, arrows };
