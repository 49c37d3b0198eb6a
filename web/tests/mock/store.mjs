// The mock's data store: one server whose clients ask for values all the time, over TLS, and an EVAL that holds them up.
// An I/O thread reads and writes for one of the clients. Consistent like the rest of the made-up recording: rows, arrows,
// tables and counters are of the same commands.
import { number, rank } from './analyses.mjs';
import { DURATION } from './recording.mjs';

const US = 1_000;
const OPERATIONS = ['reading', 'executing', 'writing'];
const STRUCTURES = ['query-buffer', 'arguments', 'reply-buffer'];
const COMMANDS = ['get', 'set', 'eval'];
const CLIENTS = [11, 12, 13, 14];
/** This one's connection is read and written by this thread. */
const [OTHER_CLIENT, OTHER_THREAD] = [12, 305];
const MAIN_THREAD = 300;
const CONNECTION_OPERATIONS = ['tls-read', 'read-postponed'];
const SLOW = { at: 2_000_000 * US, length: 48_000 * US };

/** Each with its moments in order: asked, read, turned to, executed, writing, answered. */
const made = [];
/** Until when each client waits for an answer. */
const answered = new Map();
let free = 0;
for (
  let turn = 0, at = 3_000 * US;
  at < DURATION - 100_000 * US;
  turn += 1, at += (700 + (turn % 7) * 90) * US
) {
  const client = CLIENTS[turn % CLIENTS.length];
  if ((answered.get(client) ?? 0) > at) continue;
  const command =
    at >= SLOW.at && made.every(({ name }) => name !== 'eval') ? 'eval' : turn % 5 ? 'get' : 'set';
  const start = Math.max(at + 12 * US, free);
  const done = start + (command === 'eval' ? SLOW.length : (20 + (turn % 3) * 6) * US);
  const writing = done + 5 * US;
  free = writing + 14 * US;
  answered.set(client, free);
  made.push({
    name: command,
    client,
    begin: at,
    read: start - 2 * US,
    start,
    done,
    writing,
    end: free,
    in: command === 'set' ? 90 : 34,
    out: command === 'set' ? 5 : 64,
  });
}

const stretch = (begin_ns, end_ns, value) => ({ begin_ns, end_ns, value });
const isOfOther = ({ client }) => client === OTHER_CLIENT;
const reading = (one) => stretch(one.start - 12 * US, one.read, 0);
const writing = (one) => stretch(one.writing, one.end, 2);
const loop = made.flatMap((one) => {
  const executing = stretch(one.start, one.done, 1);
  return isOfOther(one) ? [executing] : [reading(one), executing, writing(one)];
});
const thread = made.filter(isOfOther).flatMap((one) => [reading(one), writing(one)]);
const ofClient = (client) => made.filter((one) => one.client === client);
const structures = CLIENTS.map((client) =>
  ofClient(client).flatMap((one) => [
    stretch(one.begin, one.start, 0),
    stretch(one.start, one.done, 1),
    stretch(one.done, one.end, 2),
  ]),
);
const commands = CLIENTS.map((client) =>
  ofClient(client).map((one) => stretch(one.begin, one.end, COMMANDS.indexOf(one.name))),
);

const operations = ofClient(OTHER_CLIENT).flatMap((one) => {
  const since = reading(one).begin_ns;
  return [stretch(since, since + 4 * US, 1), stretch(since + 4 * US, one.read, 0)];
});
const [LOOP_ROW, THREAD_ROW, FIRST_CLIENT_ROW] = [0, 1, 2];
const OPERATIONS_ROW = FIRST_CLIENT_ROW + CLIENTS.length;

/** By row, what it shows. */
export const storeValues = {
  store: [loop, thread, ...structures, operations],
  'store-commands': [[], [], ...commands, []],
};

/** @returns {import('../../src/model/interface').StoreRowList} */
export function storeRows() {
  const row = (kind, at, number) => ({ row: at, server: 1, kind, number });
  return {
    rows: [
      row('event-loop', LOOP_ROW, MAIN_THREAD),
      row('thread', THREAD_ROW, OTHER_THREAD),
      ...CLIENTS.map((client, index) => row('connection', FIRST_CLIENT_ROW + index, client)),
      row('connection-operations', OPERATIONS_ROW, OTHER_CLIENT),
    ],
    operations: OPERATIONS,
    structures: STRUCTURES,
    connection_operations: CONNECTION_OPERATIONS,
    commands: COMMANDS,
  };
}

/** @returns {import('../../src/model/interface').StoreArrows} */
export function storeArrows({ rows, begin_ns, end_ns, limit }) {
  const arrows = made
    .flatMap((one) => {
      const connection = FIRST_CLIENT_ROW + CLIENTS.indexOf(one.client);
      const serving = isOfOther(one) ? THREAD_ROW : LOOP_ROW;
      const arrow = (kind, from_row, from_ns, to_row, to_ns) => ({ kind, from_row, from_ns, to_row, to_ns });
      const since = reading(one).begin_ns;
      return [
        arrow('read', connection, since, serving, since),
        arrow('hand-over', serving, one.read, LOOP_ROW, one.start),
        arrow('hand-over', LOOP_ROW, one.done, serving, one.writing),
        arrow('reply', serving, one.end, connection, one.end),
      ];
    })
    .filter(({ from_row, to_row }) => from_row !== to_row && rows.includes(from_row) && rows.includes(to_row))
    .filter(({ from_ns, to_ns }) => from_ns < end_ns && to_ns >= begin_ns);
  return arrows.length > limit ? { arrows: [], complete: false } : { arrows, complete: true };
}

/** @returns {import('../../src/model/interface').StoreOperations} */
export function storeOperations({ rows, begin_ns, end_ns, limit }) {
  const inSight = operations.filter((one) => one.begin_ns < end_ns && one.end_ns > begin_ns);
  const told = rows.includes(OPERATIONS_ROW) ? inSight : [];
  return {
    operations: told.slice(0, limit).map(({ begin_ns: at_ns, value }) => ({
      row: OPERATIONS_ROW,
      at_ns,
      operation: CONNECTION_OPERATIONS[value],
      tid: value === 0 ? OTHER_THREAD : MAIN_THREAD,
      asked: value === 0 ? 16384 : null,
      got: value === 0 ? 34 : null,
    })),
    complete: told.length <= limit,
  };
}

/** @returns {import('../../src/model/interface').StoreCommandPath} */
export function storeCommand(query) {
  const [begin, end] = [number(query, 'begin_ns', 0), number(query, 'end_ns', DURATION)];
  const client = number(query, 'client', 0);
  const sums = new Map();
  let rest = end - begin;
  for (const one of made.filter((each) => each.end > begin && each.start < end)) {
    const of = isOfOther(one) ? [] : [reading(one), writing(one)];
    for (const { begin_ns, end_ns, value } of [...of, stretch(one.start, one.done, 1)]) {
      const time = Math.min(end, end_ns) - Math.max(begin, begin_ns);
      if (time <= 0) continue;
      const did = { operation: OPERATIONS[value], command: one.name, own: one.client === client };
      const known = sums.get(JSON.stringify(did)) ?? { ...did, count: 0, total_ns: 0 };
      sums.set(JSON.stringify(did), { ...known, count: known.count + 1, total_ns: known.total_ns + time });
      rest -= time;
    }
  }
  const did = [...sums.values()].sort((one, other) => other.total_ns - one.total_ns);
  return { meanwhile: { did, rest_ns: Math.max(0, rest) }, path: null };
}

function totals(group) {
  const sum = (of) => group.reduce((all, one) => all + of(one), 0);
  const lengths = group.map((one) => ({ duration_ns: one.end - one.begin }));
  lengths.sort((one, other) => one.duration_ns - other.duration_ns);
  const percentile = (percent) => rank(lengths, percent).duration_ns;
  const total = sum((one) => one.end - one.begin);
  return {
    server: 1,
    count: group.length,
    unanswered: 0,
    bytes_read: sum((one) => one.in),
    bytes_written: sum((one) => one.out),
    total_ns: total,
    mean_ns: Math.round(total / group.length),
    p50_ns: percentile(50),
    p99_ns: percentile(99),
    max_ns: percentile(100),
    reading_ns: 12 * US * group.length,
    queueing_ns: sum((one) => one.start - one.begin) - 12 * US * group.length,
    executing_ns: sum((one) => one.done - one.start),
    waiting_ns: sum((one) => one.writing - one.done),
    writing_ns: sum((one) => one.end - one.writing),
  };
}

const parts = (one) => {
  const { total_ns, reading_ns, queueing_ns, executing_ns, waiting_ns, writing_ns } = totals([one]);
  return { total_ns, reading_ns, queueing_ns, executing_ns, waiting_ns, writing_ns };
};
const address = (client) => ({ client, address: '10.0.0.7', port: 40_000 + client });

/** @returns {import('../../src/model/interface').StoreTables} */
export function storeTables() {
  const all = totals(made);
  const slow = made.find(({ name }) => name === 'eval');
  const held = made.filter((one) => one.begin > slow.start && one.begin < slow.done);
  const { reading_ns, executing_ns, writing_ns } = all;
  return {
    lost: 0,
    servers: [
      {
        ...all,
        pid: MAIN_THREAD,
        port: 6379,
        level: 'lite',
        begin_ns: 0,
        end_ns: DURATION,
        clients: CLIENTS.length,
        batches: made.length,
        busy: {
          reading_ns,
          executing_ns,
          writing_ns,
          percent: ((reading_ns + executing_ns + writing_ns) / DURATION) * 100,
        },
        bus: null,
      },
    ],
    commands: COMMANDS.map((command) => ({
      ...totals(made.filter(({ name }) => name === command)),
      command,
      inside: 0,
    })),
    clients: CLIENTS.map((client) => ({
      ...totals(ofClient(client)),
      ...address(client),
      batches: ofClient(client).length,
      is_replication: false,
      busiest: 'get',
      busiest_count: ofClient(client).filter(({ name }) => name === 'get').length,
    })),
    slowest: [...made]
      .sort((one, other) => other.end - other.begin - (one.end - one.begin))
      .slice(0, 20)
      .map((one) => ({
        ...parts(one),
        ...address(one.client),
        server: 1,
        command: one.name,
        begin_ns: one.begin,
        start_ns: one.start,
        answered: true,
        read_tid: isOfOther(one) ? OTHER_THREAD : MAIN_THREAD,
        batch_commands: 1,
        batch_bytes_read: one.in,
        batch_bytes_written: one.out,
      })),
    bus: [],
    hops: [],
    touched: [
      {
        server: 1,
        cycles: ofClient(OTHER_CLIENT).length,
        connections: 1,
        fd: 9,
        client: OTHER_CLIENT,
        threads: 2,
        steps: [
          `       0.0 µs  turn 1  thread ${MAIN_THREAD}  read_postponed`,
          `       4.0 µs  turn 1  thread ${OTHER_THREAD}  ssl_read asked 16384 B, got 34, 0 pending`,
        ],
        begin_ns: operations[0].begin_ns,
        end_ns: operations[1].begin_ns,
      },
    ],
    findings: [
      {
        server: 1,
        title: `slow command: eval held up 3 other clients (once)`,
        evidence: [
          `${held.length} commands of theirs waited for certain`,
          `at worst for 48.0 ms at 2.000 s, sent by client ${slow.client}`,
        ],
        steps: [],
        advice: '',
        begin_ns: slow.start,
        end_ns: slow.done,
        client: null,
      },
    ],
  };
}

/** @returns {import('../../src/model/interface').StoresOverTime} */
export function storesOverTime(query) {
  const begin = number(query, 'begin_ns', 0);
  const end = number(query, 'end_ns', DURATION);
  const buckets = number(query, 'buckets', 100);
  const step = (end - begin) / buckets;
  const empty = () => new Array(buckets).fill(0);
  const [busy, waiting, read, written] = [empty(), empty(), empty(), empty()];
  const partOf = (at) => Math.floor((at - begin) / step);
  const within = (at) => at >= 0 && at < buckets;
  for (const one of loop) {
    for (
      let at = Math.max(0, partOf(one.begin_ns));
      at < buckets && begin + at * step < one.end_ns;
      at += 1
    ) {
      const from = Math.max(one.begin_ns, begin + at * step);
      busy[at] += Math.max(0, Math.min(one.end_ns, begin + (at + 1) * step) - from) / step;
    }
  }
  for (const one of made) {
    if (within(partOf(one.begin))) read[partOf(one.begin)] += (one.in / step) * 1e9;
    if (within(partOf(one.end))) written[partOf(one.end)] += (one.out / step) * 1e9;
    for (let at = Math.max(0, partOf(one.begin)); within(at) && at <= partOf(one.end); at += 1) {
      waiting[at] = Math.min(CLIENTS.length, waiting[at] + 1);
    }
  }
  return { servers: [{ server: 1, busy, waiting, read, written, bus: null }] };
}
