// The mock's answers about the whole recording: what was opened, and what was found in it.
// Words that a person reads, made up; the numbers in them are those of the made-up recording.
import { DURATION, STATES, requests } from './recording.mjs';

/**
 * @returns {import('../../src/model/interface').Recording}
 */
export function recording() {
  return {
    name: 'shop',
    paths: ['shop'],
    origin_ns: '1783764000123456789',
    duration_ns: DURATION,
    hosts: [{ id: 0, name: 'shop-1', has_kernel: true, cpus: [0, 1, 2, 3] }],
    traces: [
      {
        path: 'shop/kernel',
        format: 'CTF 2',
        tracer: 'lttng-modules',
        host: 'shop-1',
        kind: 'kernel',
        begin_ns: 0,
        end_ns: DURATION,
        packets: 128,
        bytes: 16_777_216,
        lost_events: 12,
      },
      {
        path: 'shop/ust',
        format: 'CTF 2',
        tracer: 'lttng-modules',
        host: 'shop-1',
        kind: 'user space',
        begin_ns: 0,
        end_ns: DURATION,
        packets: 8,
        bytes: 1_048_576,
        lost_events: 0,
      },
    ],
    diagnostics: [
      {
        code: 'LostEvents',
        severity: 'warning',
        message: '12 events of processor 2 were lost at 3.1 s',
        count: 1,
        file: 'shop/kernel/channel0_2',
        hint: 'record with larger buffers or fewer events',
      },
      {
        code: 'ClockSkew',
        severity: 'note',
        message: 'Spans of orders begin up to 2 ms before their parents',
        count: 3,
        file: '',
        hint: 'nothing is wrong with the recording',
      },
    ],
    span_files: 1,
    has_stores: true,
    has_exploration: false,
    transfer_reports: 1,
    version: '0.1.0',
    states: STATES,
  };
}

/**
 * @returns {import('../../src/model/interface').Findings}
 */
export function findings() {
  const slowest = [...requests].sort((a, b) => b.duration_ns - a.duration_ns)[0];
  const locked = requests.find((one) => one.path.segments.some((each) => each.blocked_by !== null));
  return {
    requests: requests.length,
    examined: 84,
    left_out: 0,
    findings: [
      {
        host: 0,
        id: 'cpu-quota',
        severity: 'high',
        title: 'orders is held back by its processor quota',
        explanation:
          'Threads of process 200 (orders) stood still 16 times, for 82 ms of every 100 ms, while the processors that they last used were idle. The quota is about 18 ms per 100 ms.',
        advice:
          'Raise cpu.max of the control group, or give the service fewer threads so that it uses its quota evenly.',
        share: 0.71,
        begin_ns: 1_200_000_000,
        end_ns: 2_800_000_000,
        evidence: [
          {
            text: `GET /orders stood still for 82 ms of ${Math.round(slowest.duration_ns / 1e6)} ms`,
            begin_ns: slowest.begin_ns,
            end_ns: slowest.end_ns,
            tid: slowest.tids[0],
            request: slowest.id,
          },
          {
            text: 'orders-1 (201) was preempted with no thread in its place',
            begin_ns: 1_218_000_000,
            end_ns: 1_300_000_000,
            tid: 201,
            request: null,
          },
        ],
      },
      {
        host: 0,
        id: 'lock-contention',
        severity: 'medium',
        title: 'Requests wait for a lock that other requests hold',
        explanation:
          'Workers of orders wait in futex for each other, while the holder waits for its answer from the data store.',
        advice: 'Do not hold the lock during the call of the data store.',
        share: 0.18,
        begin_ns: 0,
        end_ns: DURATION,
        evidence: locked
          ? [
              {
                text: `${locked.operation} waited for another request`,
                begin_ns: locked.begin_ns,
                end_ns: locked.end_ns,
                tid: locked.tids[0],
                request: locked.id,
              },
            ]
          : [],
      },
      {
        host: 0,
        id: 'disk-wait',
        severity: 'low',
        title: 'store order waits for the disk vda',
        explanation: 'fsync takes up to 7 ms while backup (400) reads from the same disk.',
        advice: 'Run the backup at another time, or give it a lower priority.',
        share: 0.11,
        begin_ns: 300_000_000,
        end_ns: DURATION,
        evidence: [
          {
            text: 'warning[LostEvents]: kernel/cpu1.raw: 12 events were lost',
            hint: 'record with larger buffers or fewer events',
            begin_ns: null,
            end_ns: null,
            tid: null,
            request: null,
          },
        ],
      },
    ],
  };
}
