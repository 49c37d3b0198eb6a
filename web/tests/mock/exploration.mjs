// The mock's exploration: a database over its threads, page size and mode, with two objectives, one configuration that
// always fails and one that does at times. Numbers are a formula with a little noise; intervals are about right.

import { Refused } from './analyses.mjs';

/** @typedef {import('../../src/model/interface').TriedConfiguration} Row */
/** @typedef {import('../../src/model/interface').ExploredTrial} Trial */

const THREADS = [1, 2, 3, 4, 5, 6, 8];
const PAGES = [1024, 4096, 65_536];
const MODES = ['private', 'shared'];
const REPEATED = 3;
/** Of Student, with 2 degrees of freedom. */
const QUANTILE = 4.303;
/** Always the same, between -1 and 1. */
const noise = (number) => 2 * ((Math.sin(number * 12.9898) * 43758.5453) % 1) - (number % 2 ? 1 : -1) * 0.1;

const configurations = THREADS.flatMap((threads) =>
  PAGES.flatMap((page_size) =>
    MODES.filter((mode) => threads < 8 || mode === 'shared').map((mode) => ({ threads, page_size, mode })),
  ),
);

/** @param {(typeof configurations)[number]} configuration */
function measured({ threads, page_size: page, mode }, number) {
  const scaling = threads <= 3 ? threads : 3 - 0.35 * (threads - 3);
  const factor = (page === 4096 ? 1.15 : 1) * (mode === 'shared' ? 1 : 0.8);
  return {
    throughput: 2400 * scaling * factor * (1 + 0.02 * noise(number)) * (1 - number / 12_000),
    memory: (40 + 22 * threads * (mode === 'shared' ? 0.4 : 1)) * (1 + 0.01 * noise(number + 7)),
  };
}

/** In rounds, as they run. */
const runs = Array.from({ length: REPEATED }, (_, round) =>
  configurations.map((configuration, place) => {
    const trial = 1 + round * configurations.length + place;
    const isHopeless = configuration.threads === 6 && configuration.mode === 'private';
    const isUnlucky = configuration.threads === 5 && configuration.page_size === 65_536 && round === 1;
    return { trial, configuration, failed: (isHopeless && configuration.page_size === 1024) || isUnlucky };
  }),
)
  .flat()
  .map((run) => ({ ...run, measures: run.failed ? {} : measured(run.configuration, run.trial) }));

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

function metricOf(values) {
  const middle = mean(values);
  const variance =
    values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / Math.max(1, values.length - 1);
  const half_width = values.length > 1 ? QUANTILE * Math.sqrt(variance / values.length) : null;
  return { count: values.length, mean: middle, half_width };
}

/** @returns {Row[]} */
function rows() {
  const found = configurations.map((configuration) => {
    const own = runs.filter((run) => run.configuration === configuration);
    const good = own.filter(({ failed }) => !failed);
    const metrics = ['throughput', 'memory'].map((name) => [
      name,
      metricOf(good.map(({ measures }) => measures[name])),
    ]);
    /** @type {Record<string, number>} */
    const outcomes = {};
    for (const { failed } of own) {
      const name = failed ? 'timed-out' : 'good';
      outcomes[name] = (outcomes[name] ?? 0) + 1;
    }
    return {
      configuration,
      outcomes,
      /** @type {Row['metrics']} */
      metrics: good.length > 0 ? Object.fromEntries(metrics) : {},
    };
  });
  const order = ({ outcomes, metrics }) =>
    (outcomes['timed-out'] ? 1e6 : 0) + (metrics.throughput ? -metrics.throughput.mean : 1e9);
  found.sort((one, other) => order(one) - order(other));
  const best = found[0].metrics.throughput;
  const beats = (one, other) =>
    one.throughput.mean >= other.throughput.mean &&
    one.memory.mean <= other.memory.mean &&
    (one.throughput.mean > other.throughput.mean || one.memory.mean < other.memory.mean);
  return found.map((row, place) => {
    const own = row.metrics.throughput;
    const estimate = own ? own.mean - best.mean : 0;
    const half = own ? Math.hypot(own.half_width ?? 0, best.half_width ?? 0) : 0;
    const difference = own && place > 0 ? { estimate, low: estimate - half, high: estimate + half } : null;
    return {
      ...row,
      rank: own ? place + 1 : null,
      difference,
      standing: !own
        ? 'failed'
        : place === 0
          ? 'best'
          : row.outcomes['timed-out']
            ? 'unreliable'
            : difference && difference.high < 0
              ? 'worse'
              : 'not-told-apart',
      is_on_front:
        own !== undefined && !found.some(({ metrics }) => metrics.memory && beats(metrics, row.metrics)),
    };
  });
}

const ranked = rows();

/** @returns {Trial[]} */
function trials() {
  return runs.map(({ trial, configuration, failed, measures }) => {
    const place = ranked.findIndex((row) => row.configuration === configuration);
    const deviations = Object.entries(measures).map(([name, value]) => [
      name,
      value / ranked[place].metrics[name].mean - 1,
    ]);
    return {
      trial,
      configuration: place,
      outcome: failed ? 'timed-out' : 'good',
      words: failed ? 'the workload was not done after 60 s' : '',
      begin_ms: (trial - 1) * 2100,
      duration_ms: 2050,
      measures,
      deviations: Object.fromEntries(deviations),
    };
  });
}

/** @type {import('../../src/model/interface').ExplorationProgress} */
const progress = {
  state: 'running',
  planned: runs.length + 12,
  ended: runs.length,
  running: configurations[0],
  end: null,
  revision: '1',
};

const TOML = 'mode = "shared"\npage_size = 4096\nthreads = 3\n';

/** @returns {import('../../src/model/interface').Exploration} */
function exploration() {
  const best = ranked[0].configuration;
  const collapsed = ranked.find(({ configuration }) => configuration.threads === 8)?.configuration ?? best;
  const words =
    'with threads=8 instead of threads=3, the workload took 1.204 s instead of 412.1 ms, 792.2 ms more. ' +
    'More than before went to: 741.0 ms waiting in futex for `query`, which was running (RUNNING)';
  return {
    progress,
    results: {
      name: 'made-up',
      trials: runs.length,
      failed: runs.filter(({ failed }) => failed).length,
      confidence: 0.95,
      objectives: [
        { metric: 'throughput', unit: 'queries/min', goal: 'maximise', noise: 0.0112 },
        { metric: 'memory', unit: 'MiB', goal: 'minimise', noise: 0.0054 },
      ],
      parameters: ['threads', 'page_size', 'mode'],
      configurations: ranked,
      is_by_rounds: false,
      importance: {
        method: 'additive',
        parameters: [
          ['threads', 0.61],
          ['mode', 0.17],
          ['page_size', 0.05],
        ],
        together: null,
        not_explained: 0.17,
      },
      notes: [],
    },
    not_told_apart: ranked.filter(({ standing }) => standing === 'not-told-apart').length,
    no_interval: 0,
    luck: { rivals: ranked.length, share: 0.26 },
    spent_ms: runs.length * 2050,
    parameters: [
      { name: 'threads', values: THREADS, is_number: true, without: 0 },
      { name: 'page_size', values: PAGES, is_number: true, without: 0 },
      { name: 'mode', values: MODES, is_number: false, without: 0 },
    ],
    metrics: [
      { name: 'throughput', unit: 'queries/min', goal: 'maximise' },
      { name: 'memory', unit: 'MiB', goal: 'minimise' },
    ],
    trials: trials(),
    drift: [
      { metric: 'throughput', change: { estimate: -0.009, low: -0.014, high: -0.004 } },
      { metric: 'memory', change: { estimate: 0.001, low: -0.002, high: 0.004 } },
    ],
    conclusions: [],
    reasons: [{ words, about: [best, collapsed] }],
    recommended: { folder: null, files: [{ path: 'parameters.toml', text: TOML }] },
  };
}

/**
 * @param {URLSearchParams} query
 * @returns {import('../../src/model/interface').HeatMap}
 */
function heatMap(query) {
  const [metric, x, y] = [
    query.get('metric') ?? 'throughput',
    query.get('x') ?? 'threads',
    query.get('y') ?? 'mode',
  ];
  if (![x, y].every((name) => ['threads', 'mode', 'page_size'].includes(name))) {
    throw new Refused(400, `the exploration has no parameter \`${x}\``);
  }
  const others = ['threads', 'mode', 'page_size'].filter((name) => name !== x && name !== y);
  const by = (query.get('by') ?? others.join(',')).split(',').filter((name) => name !== '');
  const values = { threads: [1, 2, 3, 4, 5, 6, 7, 8], page_size: PAGES, mode: MODES };
  const axis = (parameter) => ({
    parameter,
    labels: values[parameter].map(String),
    is_number: parameter !== 'mode',
    is_grouped: false,
  });
  /** @type {Map<string, import('../../src/model/interface').HeatMapPanel>} */
  const panels = new Map();
  ranked.forEach((row, place) => {
    const at = (name) => values[name].indexOf(row.configuration[name]);
    const of = by.map(at);
    /** @type {import('../../src/model/interface').HeatMapPanel} */
    const panel = panels.get(of.join()) ?? { of, cells: [] };
    panels.set(of.join(), panel);
    let cell = panel.cells.find((one) => one.x === at(x) && one.y === at(y));
    if (!cell) {
      cell = {
        x: at(x),
        y: at(y),
        configurations: [],
        count: 0,
        failed: 0,
        mean: null,
        half_width: null,
        low: null,
        high: null,
      };
      panel.cells.push(cell);
    }
    cell.configurations.push(place);
    cell.failed += row.outcomes['timed-out'] ?? 0;
    const known = cell.configurations.flatMap((one) => ranked[one].metrics[metric] ?? []);
    const means = known.map((one) => one.mean);
    cell.count = known.reduce((sum, one) => sum + one.count, 0);
    cell.mean = means.length > 0 ? mean(means) : null;
    cell.half_width = known.length === 1 ? known[0].half_width : null;
    cell.low = means.length > 0 ? Math.min(...means) : null;
    cell.high = means.length > 0 ? Math.max(...means) : null;
  });
  return {
    metric,
    x: axis(x),
    y: axis(y),
    by: by.map(axis),
    over: others.filter((name) => !by.includes(name)),
    panels: [...panels.values()].sort((one, other) => (one.of < other.of ? -1 : 1)),
  };
}

/** What is opened where nothing but an exploration is. */
export function recordingOfExploration(recording) {
  return {
    ...recording,
    name: 'made-up-exploration',
    paths: ['made-up-exploration'],
    duration_ns: 0,
    hosts: [],
    traces: [],
    diagnostics: [],
    span_files: 0,
    has_stores: false,
    transfer_reports: 0,
    has_exploration: true,
  };
}

export function explorationAnswer(part, query) {
  if (part === 'progress') return progress;
  return part === 'heat-map' ? heatMap(query) : exploration();
}
