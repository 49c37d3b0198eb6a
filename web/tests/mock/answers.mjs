// What the mock answers to each question of the interface, computed from the made-up recording.
// Simple rather than fast: it looks through everything each time.
import { Refused, analysis, eventPage, number, rank, services } from './analyses.mjs';
import { findings, recording } from './facts.mjs';
import { ioRates, quiet, usage } from './over-time.mjs';
import {
  storeArrows,
  storeCommand,
  storeOperations,
  storeRows,
  storeTables,
  storeValues,
  storesOverTime,
} from './store.mjs';
import { transfers } from './transfers.mjs';
import { explorationAnswer } from './exploration.mjs';
import { DURATION, arrows, cpus, groups, requests, sum, threads } from './recording.mjs';

/** @returns {import('../../src/model/interface').Thread} */
const publicThread = ({ row, host, tid, pid, comm, begin_ns, end_ns, states, serves_requests }) => ({
  row,
  host,
  tid,
  pid,
  comm,
  begin_ns,
  end_ns,
  states,
  serves_requests,
});
/**
 * @param {import('./made-up').MadeRequest} request
 * @returns {import('../../src/model/interface').Request}
 */
const publicRequest = ({ path, ...rest }) => rest;

export function answerOf(path, query, body) {
  const parts = path.split('/').slice(2);
  switch (parts[0]) {
    case 'recording':
      return recording();
    case 'threads':
      if (parts.length === 3) return threadPath(Number(parts[1]), query);
      return { threads: threads.map(publicThread) };
    case 'cpus':
      return {
        cpus: cpus.map(({ row, host, cpu, busy_ns, known_ns }) => ({ row, host, cpu, busy_ns, known_ns })),
      };
    case 'screen':
      return screen(body);
    case 'intervals':
      return intervals(body);
    case 'arrows':
      return wakeUps(body);
    case 'usage':
      return usage(query);
    case 'quiet':
      return { quiet: quiet(body) };
    case 'lost':
      return { lost: [{ trace: 0, begin_ns: 3_100_000_000, end_ns: 3_104_000_000, events: 12 }] };
    case 'io':
      return ioRates(query);
    case 'requests':
      return parts.length === 2 ? detail(Number(parts[1])) : list(query);
    case 'paths':
      return paths(body);
    case 'operations':
      return { operations: operations(), in_part: 0 };
    case 'distribution':
      return distribution(query);
    case 'compare':
      return compare(body);
    case 'findings':
      return findings();
    case 'services':
      return services();
    case 'store':
      return store(parts[1], query, body);
    case 'transfers':
      return transfers();
    case 'exploration':
      return explorationAnswer(parts[1], query);
    case 'events':
      return eventPage(query);
    case 'analyses':
      return analysis(parts[1], query);
    default:
      throw new Refused(404, 'There is no such address');
  }
}

function store(part, query, body) {
  if (part === 'rows') return storeRows();
  if (part === 'command') return storeCommand(query);
  if (part === 'arrows') return storeArrows(body);
  if (part === 'operations') return storeOperations(body);
  return part === 'over-time' ? storesOverTime(query) : storeTables();
}

/** @returns {import('../../src/model/interface').Interval[][]} */
function rowsOf({ of, rows }) {
  const source = storeValues[of]
    ? storeValues[of]
    : of === 'cpus'
      ? cpus.map((one) => one.values)
      : threads.map((one) => (of === 'requests' ? one.works : one.values));
  return rows.map((row) => {
    if (!source[row]) throw new Refused(400, `there is no row ${row}`);
    return source[row];
  });
}

/**
 * @param {import('../../src/model/interface').IntervalsQuestion} question
 * @returns {import('../../src/model/interface').Intervals}
 */
function intervals({ of, rows: wanted, begin_ns, end_ns, limit = 10_000 }) {
  const rows = rowsOf({ of, rows: wanted }).map((intervals) =>
    intervals.filter((one) => one.end_ns > begin_ns && one.begin_ns < end_ns),
  );
  const complete = rows.reduce((all, row) => all + row.length, 0) <= limit;
  return { rows: complete ? rows : rows.map(() => []), complete };
}

/**
 * @param {import('../../src/model/interface').ArrowsQuestion} question
 * @returns {import('../../src/model/interface').WakeUps}
 */
function wakeUps({ rows: wanted = [], touching, begin_ns, end_ns, limit = 10_000 }) {
  const rows = new Set(wanted);
  const found = arrows.filter(
    (one) =>
      one.to_ns > begin_ns &&
      one.from_ns < end_ns &&
      (touching === undefined
        ? one.from_row !== null && rows.has(one.from_row) && rows.has(one.to_row)
        : one.from_row === touching || one.to_row === touching),
  );
  return { arrows: found.slice(0, limit), complete: found.length <= limit };
}

function screen(body) {
  const { begin_ns, end_ns, pixels } = body;
  const rows = rowsOf(body);
  const values = new Uint32Array(rows.length * pixels);
  const shares = new Uint8Array(rows.length * pixels);
  const step = (end_ns - begin_ns) / pixels;
  rows.forEach((intervals, row) => {
    let first = 0;
    for (let x = 0; x < pixels; x += 1) {
      const from = begin_ns + x * step;
      const to = from + step;
      while (first < intervals.length && intervals[first].end_ns <= from) first += 1;
      /** @type {Map<number, number>} */
      const filled = new Map();
      for (let index = first; index < intervals.length && intervals[index].begin_ns < to; index += 1) {
        const { begin_ns: begin, end_ns: end, value } = intervals[index];
        filled.set(value, (filled.get(value) ?? 0) + Math.min(end, to) - Math.max(begin, from));
      }
      const best = [...filled].sort((a, b) => b[1] - a[1])[0];
      if (!best) continue;
      values[row * pixels + x] = best[0];
      shares[row * pixels + x] = Math.max(1, Math.round((255 * best[1]) / step));
    }
  });
  return Buffer.concat([Buffer.from(values.buffer), Buffer.from(shares.buffer)]);
}

/**
 * @returns {import('../../src/model/interface').Path}
 */
function threadPath(row, query) {
  const one = threads[row];
  const begin = number(query, 'begin_ns', 0);
  const end = number(query, 'end_ns', DURATION);
  const segments = one.intervals
    .filter((each) => each.end_ns > begin && each.begin_ns < end)
    .map((each) => ({
      begin_ns: Math.max(begin, each.begin_ns),
      end_ns: Math.min(end, each.end_ns),
      host: 0,
      tid: one.tid,
      comm: one.comm,
      state: each.state,
      depth: 0,
      detail: each.detail,
      blocked_by: null,
    }));
  return { host: 0, tid: one.tid, begin_ns: begin, end_ns: end, segments, links: [], states: sum(segments) };
}

/**
 * @returns {import('../../src/model/interface').RequestPage}
 */
function list(query) {
  const text = (query.get('text') ?? '').toLowerCase();
  const sort = query.get('sort') ?? 'duration';
  const sign = query.get('order') === 'asc' ? 1 : -1;
  const key =
    { duration: (one) => one.duration_ns, begin: (one) => one.begin_ns }[sort] ?? ((one) => one[sort]);
  const found = requests.filter(
    (one) =>
      (!query.get('service') || one.service === query.get('service')) &&
      (!query.get('operation') || one.operation === query.get('operation')) &&
      (!query.get('trace') || one.trace_id === query.get('trace')) &&
      one.percentile > number(query, 'from_percentile', -1) &&
      one.percentile <= number(query, 'to_percentile', 100) &&
      one.duration_ns >= number(query, 'min_ns', 0) &&
      one.duration_ns <= number(query, 'max_ns', Infinity) &&
      one.end_ns > number(query, 'begin_ns', 0) &&
      one.begin_ns < number(query, 'end_ns', DURATION) &&
      [one.service, one.operation, one.trace_id, one.span_id].some((part) =>
        part.toLowerCase().includes(text),
      ),
  );
  found.sort((a, b) => (key(a) < key(b) ? -sign : key(a) > key(b) ? sign : a.id - b.id));
  const offset = number(query, 'offset', 0);
  return {
    total: found.length,
    requests: found.slice(offset, offset + number(query, 'limit', 100)).map(publicRequest),
  };
}

/**
 * @param {import('../../src/model/interface').PathsQuestion} question
 * @returns {import('../../src/model/interface').Paths}
 */
function paths(question) {
  return { paths: question.requests.map((id) => ({ id, path: requests[id].path })) };
}

/**
 * @returns {import('../../src/model/interface').RequestDetail}
 */
function detail(id) {
  const request = requests[id];
  if (!request) throw new Refused(404, `There is no request ${id}`);
  const [state, time] = Object.entries(request.states).sort((a, b) => b[1] - a[1])[0];
  const waits = request.path.segments
    .filter((one) => one.state !== 'RUNNING' && one.end_ns - one.begin_ns > 100_000)
    .sort((a, b) => b.end_ns - b.begin_ns - (a.end_ns - a.begin_ns))
    .slice(0, 3)
    .map((one) => ({
      begin_ns: one.begin_ns,
      end_ns: one.end_ns,
      tid: one.tid,
      on: one.depth > 0 && request.service === 'frontend' ? 'THREAD' : one.state,
      waker_tid: one.tid,
      waker_comm: one.comm,
      call: one.state === 'BLOCKED' ? 'futex' : undefined,
      mostly_tid: one.tid,
      mostly_state: one.state,
    }));
  const blockers = new Map();
  for (const one of request.path.segments) {
    if (one.blocked_by !== null)
      blockers.set(one.blocked_by, (blockers.get(one.blocked_by) ?? 0) + one.end_ns - one.begin_ns);
  }
  const verdict =
    state === 'PREEMPTED'
      ? `${Math.round((100 * time) / request.duration_ns)} % of its time it was able to run but did not: its control group had used up its processor quota, while other processors were idle.`
      : `Most of its time (${Math.round((100 * time) / request.duration_ns)} %) is ${state}.`;
  return {
    request: publicRequest(request),
    path: request.path,
    waits,
    blocked_by: [...blockers].map(([other, ns]) => ({
      id: other,
      described: `${requests[other].operation} ${requests[other].span_id}`,
      ns,
    })),
    verdict,
    spans: requests
      .filter((one) => one.trace_id === request.trace_id)
      .map(({ id: spanId, span_id, parent_span_id, service, operation, host, begin_ns, end_ns }) => ({
        id: spanId,
        span_id,
        parent_span_id,
        service,
        operation,
        host,
        begin_ns,
        end_ns,
      })),
  };
}

/**
 * @returns {import('../../src/model/interface').Operation[]}
 */
function operations() {
  return [...groups.values()].map((group) => ({
    service: group[0].service,
    operation: group[0].operation,
    comm: '',
    count: group.length,
    in_part: 0,
    p50_ns: rank(group, 50).duration_ns,
    p90_ns: rank(group, 90).duration_ns,
    p99_ns: rank(group, 99).duration_ns,
    max_ns: rank(group, 100).duration_ns,
    bands: [
      [0, 50],
      [50, 90],
      [90, 99],
      [99, 100],
    ].map(([from, to]) => {
      const part = group.filter((one) => one.percentile > from && one.percentile <= to);
      return {
        from_percentile: from,
        to_percentile: to,
        count: part.length,
        min_ns: part[0]?.duration_ns ?? 0,
        max_ns: part.at(-1)?.duration_ns ?? 0,
        states: sum(part.flatMap((one) => one.path.segments)),
        own_states: {},
      };
    }),
  }));
}

/**
 * @returns {import('../../src/model/interface').Distribution}
 */
function distribution(query) {
  const group = requests.filter(
    (one) =>
      (!query.get('service') || one.service === query.get('service')) &&
      (!query.get('operation') || one.operation === query.get('operation')),
  );
  const times = group.map((one) => one.duration_ns);
  const low = Math.min(...times);
  const high = Math.max(...times) * 1.0001;
  const buckets = number(query, 'buckets', 60);
  const edges = Array.from({ length: buckets + 1 }, (_, index) =>
    Math.round(low * (high / low) ** (index / buckets)),
  );
  const counts = new Array(buckets).fill(0);
  for (const time of times) {
    counts[Math.min(buckets - 1, Math.floor((Math.log(time / low) / Math.log(high / low)) * buckets))] += 1;
  }
  return { edges_ns: edges, counts };
}

/**
 * @param {import('../../src/model/interface').CompareQuestion} groups
 * @returns {import('../../src/model/interface').Comparison}
 */
function compare({ one, other }) {
  const members = (group) =>
    group.requests
      ? group.requests.map((id) => requests[id])
      : requests.filter(
          (each) =>
            each.service === group.service &&
            each.operation === group.operation &&
            each.percentile > group.percentiles[0] &&
            each.percentile <= group.percentiles[1],
        );
  const means = (list) => {
    const found = new Map();
    for (const { state, comm, detail, begin_ns, end_ns } of list.flatMap((each) => each.path.segments)) {
      const key = JSON.stringify([state, comm.replace(/\d+/g, ''), detail]);
      found.set(key, (found.get(key) ?? 0) + (end_ns - begin_ns) / list.length);
    }
    return found;
  };
  const first = members(one);
  const second = members(other);
  const [firstMeans, secondMeans] = [means(first), means(second)];
  const mean = (list) =>
    Math.round(list.reduce((all, each) => all + each.duration_ns, 0) / Math.max(1, list.length));
  return {
    one: { count: first.length, in_part: 0, mean_ns: mean(first) },
    other: { count: second.length, in_part: 0, mean_ns: mean(second) },
    differences: [...new Set([...firstMeans.keys(), ...secondMeans.keys()])]
      .map((key) => {
        const [state, comm, detail] = JSON.parse(key);
        const one_ns = Math.round(firstMeans.get(key) ?? 0);
        const other_ns = Math.round(secondMeans.get(key) ?? 0);
        return { state, comm, detail, one_ns, other_ns, difference_ns: other_ns - one_ns };
      })
      .sort((a, b) => Math.abs(b.difference_ns) - Math.abs(a.difference_ns)),
  };
}
