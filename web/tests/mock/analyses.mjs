// The mock's answers that are not about requests or rows: calling contexts, events, analyses. And what both
// files use: numbers of a query, nearest-rank percentiles, refusals.
import { DURATION, cpus, events, groups, requests, threads } from './recording.mjs';

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const number = (query, name, otherwise) => (query.has(name) ? Number(query.get(name)) : otherwise);
export const rank = (group, percent) => group[Math.max(0, Math.ceil((percent / 100) * group.length) - 1)];

/**
 * @template {'inclusive' | 'exclusive'} Kind
 * @param {Kind} kind
 * @returns {Record<`${Kind}_${'p50' | 'p90' | 'p99' | 'max'}`, number>}
 */
function percentiles(kind, group, share) {
  const of = (percent) => Math.round(rank(group, percent).duration_ns * share);
  return /** @type {any} */ ({
    [`${kind}_p50`]: of(50),
    [`${kind}_p90`]: of(90),
    [`${kind}_p99`]: of(99),
    [`${kind}_max`]: of(100),
  });
}

/**
 * @returns {import('../../src/model/interface').ServicesReport}
 */
export function services() {
  const roots = requests.filter((one) => one.parent_span_id === undefined);
  roots.sort((a, b) => a.duration_ns - b.duration_ns);
  const everything = roots.reduce((all, one) => all + one.duration_ns, 0);
  const contexts = [
    ['frontend[GET /orders]'],
    ['frontend[GET /orders]', 'orders[load order]'],
    ['frontend[POST /orders]'],
    ['frontend[POST /orders]', 'orders[store order]'],
  ].map((path) => {
    const [service, operation] = path[path.length - 1].slice(0, -1).split('[');
    const group = groups.get(`${service}\n${operation}`) ?? [];
    const total = group.reduce((all, one) => all + one.duration_ns, 0);
    const own = path.length === 1 ? Math.round(total * 0.06) : total;
    return {
      path,
      count: group.length,
      errors: 0,
      inclusive: total,
      exclusive: own,
      critical: own,
      critical_share: own / everything,
      on_critical_path: group.length,
      drag: own,
      drag_share: own / everything,
      slack_mean: 0,
      slowest: null,
      ...percentiles('inclusive', group, 1),
      ...percentiles('exclusive', group, own / total),
    };
  });
  const most = (key) => Math.max(...contexts.map((one) => one[key]));
  const [inclusive, exclusive] = [most('inclusive'), most('exclusive')];
  return {
    map: serviceMap(),
    traces: roots.length,
    spans: contexts.reduce((all, one) => all + one.count, 0),
    requests: roots.length,
    latency: everything,
    latency_p50: rank(roots, 50).duration_ns,
    latency_p90: rank(roots, 90).duration_ns,
    latency_p99: rank(roots, 99).duration_ns,
    latency_max: rank(roots, 100).duration_ns,
    without_drag: 0,
    other_services: 0,
    other_operations: 0,
    most_calls: 256,
    deeper_spans: 0,
    mended: {
      duplicates: 0,
      conflicting: 0,
      orphans: 0,
      circles: 0,
      skewed: 0,
      outside: 0,
      early: 0,
      late: 0,
    },
    contexts: contexts.length,
    paths: contexts
      .map((one) => {
        const x = one.inclusive / inclusive;
        const y = one.exclusive / exclusive;
        return { ...one, inclusive_normalized: x, exclusive_normalized: y, distance: Math.hypot(x, y) };
      })
      .sort((a, b) => b.distance - a.distance)
      .map((one, index) => ({ rank: index + 1, ...one })),
  };
}

/** @returns {import('../../src/model/interface').ServiceMap} */
function serviceMap() {
  const served = (names, share, errors) => {
    const group = names.flatMap((name) => groups.get(name));
    group.sort((a, b) => a.duration_ns - b.duration_ns);
    return {
      count: group.length,
      errors,
      mean: Math.round(group.reduce((all, one) => all + one.duration_ns, 0) / group.length),
      p50: rank(group, 50).duration_ns,
      p99: rank(group, 99).duration_ns,
      max: rank(group, 100).duration_ns,
      critical: share * 1e9,
      critical_share: share,
    };
  };
  const orders = ['orders\nload order', 'orders\nstore order'];
  return {
    services: [
      { service: 'orders', ...served(orders, 0.61, 7) },
      { service: 'inventory', ...served(orders.slice(0, 1), 0.21, 0) },
      { service: 'payments', ...served(orders.slice(1), 0.12, 0) },
      { service: 'frontend', ...served(['frontend\nGET /orders', 'frontend\nPOST /orders'], 0.06, 7) },
    ],
    calls: [
      { caller: 'frontend', callee: 'orders', ...served(orders, 0.61, 7) },
      { caller: 'orders', callee: 'inventory', ...served(orders.slice(0, 1), 0.21, 0) },
      { caller: 'orders', callee: 'payments', ...served(orders.slice(1), 0.1, 0) },
      { caller: 'frontend', callee: 'payments', ...served(orders.slice(1), 0.02, 0) },
    ],
  };
}

/**
 * @returns {import('../../src/model/interface').EventPage}
 */
export function eventPage(query) {
  const fits = events.filter(
    (one) => one.name.includes(query.get('name') ?? '') && one.text.includes(query.get('text') ?? ''),
  );
  const at = number(query, 'at_ns', 0);
  let index = fits.findIndex((one) => one.at_ns >= at);
  if (index < 0) index = fits.length;
  const from = Math.max(0, index - number(query, 'before', 0));
  const to = Math.min(fits.length, index + number(query, 'after', 100));
  return {
    events: fits.slice(from, to),
    has_earlier: from > 0,
    has_later: to < fits.length,
    searched_from_ns: null,
    searched_to_ns: null,
  };
}

export function analysis(kind, query) {
  switch (kind) {
    case 'cpu':
      return cpuReport();
    case 'io':
      return ioReport();
    case 'latency':
      return latencyReport(query.get('kind') ?? 'syscall');
    case 'count':
      return countReport();
    default:
      throw new Refused(404, `There is no analysis ${kind}`);
  }
}

const window = { begin_ns: 0, end_ns: DURATION };
const percent = (time) => (100 * time) / DURATION;

/** @returns {import('../../src/model/interface').CpuReport} */
function cpuReport() {
  return {
    ...window,
    cpus: cpus.map(({ cpu, busy_ns }) => ({ cpu, busy_ns, unknown_ns: 0, percent: percent(busy_ns) })),
    threads: threads
      .map(({ tid, comm, states }) => ({
        tid,
        comm,
        busy_ns: states.RUNNING ?? 0,
        percent: percent(states.RUNNING ?? 0),
      }))
      .sort((a, b) => b.busy_ns - a.busy_ns),
  };
}

/** @returns {import('../../src/model/interface').IoReport} */
function ioReport() {
  const read = { read_bytes: 734_003_200, write_bytes: 0, reads: 5600, writes: 0 };
  const written = { read_bytes: 120_400, write_bytes: 894_000, reads: 310, writes: 305 };
  return {
    ...window,
    processes: [
      { pid: 400, comm: 'backup', ...read },
      { pid: 300, comm: 'redis-server', ...written },
    ],
    files: [{ path: '/srv/data/orders.db', ...read }],
  };
}

/**
 * @param {import('../../src/model/interface').LatencyKind} kind
 * @returns {import('../../src/model/interface').LatencyReport}
 */
function latencyReport(kind) {
  return {
    ...window,
    kind,
    entries: ['futex', 'epoll_wait', 'recvfrom', 'fsync'].map((name, index) => ({
      name,
      count: 4000 >> index,
      min_ns: 900,
      mean_ns: 41_000 * (index + 1),
      p50_ns: 12_000 * (index + 1),
      p99_ns: 900_000 * (index + 1),
      max_ns: 6_400_000 * (index + 1),
      total_ns: (4000 >> index) * 41_000 * (index + 1),
    })),
  };
}

/** @returns {import('../../src/model/interface').CountReport} */
function countReport() {
  /** @type {Record<string, number>} */
  const by = {};
  for (const { name } of events) by[name] = (by[name] ?? 0) + 1;
  return { ...window, events: events.length, lost: 12, packets: 136, streams: 5, by };
}
