// The mock's data store: one server whose clients ask for values all the time, and an EVAL that holds them up.
// Consistent like the rest of the made-up recording: rows, tables and counters are of the same commands.
import { number, rank } from './analyses.mjs';
import { DURATION } from './recording.mjs';

const US = 1_000;
const OPERATIONS = ['reading', 'executing', 'writing'];
const STRUCTURES = ['query-buffer', 'arguments', 'reply-buffer'];
const COMMANDS = ['get', 'set', 'eval'];
const CLIENTS = [11, 12, 13, 14];
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
const loop = made.flatMap((one) => [
  stretch(one.start - 12 * US, one.read, 0),
  stretch(one.start, one.done, 1),
  stretch(one.writing, one.end, 2),
]);
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

/** By row, what it shows. */
export const storeValues = {
  store: [loop, ...structures],
  'store-commands': [[], ...commands],
};

/** @returns {import('../../src/model/interface').StoreRowList} */
export function storeRows() {
  const row = (kind, at, number) => ({ row: at, server: 1, kind, number });
  return {
    rows: [
      row('event-loop', 0, 300),
      ...CLIENTS.map((client, index) => row('connection', index + 1, client)),
    ],
    operations: OPERATIONS,
    structures: STRUCTURES,
    commands: COMMANDS,
  };
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
        pid: 300,
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
        read_tid: 300,
        batch_commands: 1,
        batch_bytes_read: one.in,
        batch_bytes_written: one.out,
      })),
    bus: [],
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
