// The mock's answers about the shown time in equal parts: use of processors, input and output; and when nothing
// but waiting goes on.
import { number } from './analyses.mjs';
import { DURATION, cpus, threads } from './recording.mjs';

export function usage(query) {
  const begin = number(query, 'begin_ns', 0);
  const end = number(query, 'end_ns', DURATION);
  const buckets = number(query, 'buckets', 100);
  const step = (end - begin) / buckets;
  const all = cpus.map(({ host, cpu, values }) => {
    const busy = new Array(buckets).fill(0);
    for (const one of values) {
      if (one.value === 0 || one.end_ns <= begin || one.begin_ns >= end) continue;
      const from = Math.max(one.begin_ns, begin);
      const to = Math.min(one.end_ns, end);
      for (
        let index = Math.floor((from - begin) / step);
        index < buckets && begin + index * step < to;
        index += 1
      ) {
        const low = Math.max(from, begin + index * step);
        busy[index] += (Math.min(to, begin + (index + 1) * step) - low) / step;
      }
    }
    return { host, cpu, values: busy, mean: meanOf(busy) };
  });
  const total = Array.from({ length: buckets }, (_, index) => meanOf(all.map(({ values }) => values[index])));
  return { cpus: all, total, mean: meanOf(total) };
}

// All of the time is known here.
function meanOf(shares) {
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

export function quiet({ rows, begin_ns: begin, end_ns: end }) {
  const waits = ['BLOCKED', 'BLOCK_DEVICE', 'NETWORK', 'TIMER', 'USER_INPUT'];
  const busy = rows
    .flatMap((row) => threads[row].intervals.filter(({ state }) => !waits.includes(state)))
    .sort((a, b) => a.begin_ns - b.begin_ns);
  const found = [];
  let from = begin;
  for (const one of [...busy, { begin_ns: end, end_ns: end }]) {
    if (one.begin_ns > from) found.push({ begin_ns: from, end_ns: Math.min(end, one.begin_ns) });
    from = Math.max(from, one.end_ns);
    if (from >= end) break;
  }
  return found;
}

/** What a thread reads or writes while it waits for the disk or the network, evenly. */
export function ioRates(query) {
  const begin = number(query, 'begin_ns', 0);
  const end = number(query, 'end_ns', DURATION);
  const buckets = number(query, 'buckets', 100);
  const step = (end - begin) / buckets;
  const rates = (state, perSecond) => {
    const found = new Array(buckets).fill(0);
    for (const one of threads.flatMap((each) => each.intervals.filter((other) => other.state === state))) {
      const from = Math.max(0, Math.floor((one.begin_ns - begin) / step));
      for (let index = from; index < buckets && begin + index * step < one.end_ns; index += 1) {
        const low = Math.max(one.begin_ns, begin + index * step);
        const high = Math.min(one.end_ns, begin + (index + 1) * step);
        found[index] += (Math.max(0, high - low) / step) * perSecond;
      }
    }
    return found;
  };
  const both = (medium, state, read, written) => ({
    host: 0,
    medium,
    read: rates(state, read),
    written: rates(state, written),
  });
  return {
    finest_ns: 524_288,
    rates: [both('files', 'BLOCK_DEVICE', 9e7, 2e7), both('network', 'NETWORK', 3e6, 1e6)],
  };
}
