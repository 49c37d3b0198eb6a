// The mock's report of transfers: what a planner of journeys receives and hardly reads, from three endpoints, partly on
// paths of the made-up recording's services. Numbers follow from the counts of each field, as the server has them.
import { services } from './analyses.mjs';

const SECONDS = 40;
const REQUESTS = 'http://orders:8080';

/** @typedef {[name: string, type: string, used: number, printed: number, bytes: number]} Drawn of 385 objects */

/** @type {Drawn[]} */
const ORDER = [
  ['id', 'java.lang.String', 385, 0, 24],
  ['customer', 'java.lang.String', 0, 0, 41],
  ['lines', 'java.util.List', 0, 0, 220],
  ['price', 'double', 115, 0, 13],
  ['note', 'java.lang.String', 0, 31, 88],
  ['createdAt', 'long', 0, 385, 26],
];
/** @type {Drawn[]} */
const STATION = [
  ['code', 'java.lang.String', 385, 0, 14],
  ['name', 'java.lang.String', 385, 0, 30],
  ['latitude', 'double', 0, 0, 18],
  ['longitude', 'double', 0, 0, 19],
];

/** Wilson's interval. */
function share(hits, samples) {
  if (samples === 0) return null;
  const z = 1.959_964;
  const part = hits / samples;
  const weight = (z * z) / samples;
  const middle = (part + weight / 2) / (1 + weight);
  const half = (z / (1 + weight)) * Math.sqrt((part * (1 - part)) / samples + weight / samples / 4);
  return { share: part, low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

/**
 * @param {Drawn} drawn
 * @param {number} decided
 * @returns {import('../../src/model/interface').TransferredField}
 */
function field([name, type, used, printed, bytes], decided) {
  const [read, shown] = [used, printed].map((count) => Math.round((count / 385) * decided));
  const utilisation = share(read, decided);
  const censored_used = decided === 0 && used > 0 ? 12 : 0;
  /** @type {import('../../src/model/interface').FieldUse} */
  const use =
    utilisation === null
      ? censored_used > 0
        ? 'censored'
        : 'unknown'
      : read > 0
        ? read + shown === decided
          ? 'always'
          : 'sometimes'
        : utilisation.high > 0.05
          ? 'not_yet'
          : shown > 0
            ? 'printed'
            : 'never';
  const printed_share = utilisation === null ? null : shown / decided;
  const unused = decided - read - shown;
  return {
    name,
    type,
    used: read,
    printed: shown,
    unused,
    censored_used,
    utilisation,
    printed_share,
    effective_samples: decided,
    bytes,
    use,
  };
}

const made = [
  {
    of: 'Order',
    fields: ORDER,
    at: 'one',
    line: 58,
    responses: 4200,
    decided: 385,
    objects: 1,
    path: 0,
    url: '/orders/{id}',
  },
  {
    of: 'Order',
    fields: ORDER,
    at: 'list',
    line: 91,
    responses: 900,
    decided: 385,
    objects: 20,
    path: 2,
    url: '/orders',
  },
  {
    of: 'Station',
    fields: STATION,
    at: 'plan',
    line: 120,
    responses: 2600,
    decided: 212,
    objects: 2,
    path: null,
    url: '/stations/{}',
  },
  {
    of: 'Order',
    fields: ORDER,
    at: 'audit',
    line: 133,
    responses: 300,
    decided: 40,
    objects: 1,
    path: null,
    url: '/orders/{id}',
  },
  {
    of: 'Station',
    fields: STATION,
    at: 'keep',
    line: 140,
    responses: 12,
    decided: 0,
    objects: 60,
    path: null,
    url: '/stations',
  },
];

function adviceOf(decided, unread, all) {
  if (decided === 0) {
    return 'the later use of 12 objects is not known: they outlived their requests, were copied, or may have been read unseen';
  }
  return unread > 0
    ? `${unread} of ${all} fields are never read: do without \`customer\``
    : `nothing has read \`customer\` so far, in ${decided} objects, which are too few to be sure`;
}

/** @returns {import('../../src/model/interface').NoPath} */
const whyNoPath = (place) => (place === 'keep' ? 'no_call' : 'ambiguous');

/** @returns {import('../../src/model/interface').TransfersReport} */
export function transfers() {
  const { paths, requests, latency } = services();
  const rows = made.map((one, index) => {
    const fields = one.fields.map((drawn) => field(drawn, one.decided));
    const bytes = fields.reduce((all, { bytes }) => all + bytes, 0);
    const vain = fields.reduce(
      (all, { bytes, utilisation }) => all + (utilisation ? bytes * (1 - utilisation.share) : 0),
      0,
    );
    const used = fields.reduce((all, field) => all + field.used, 0);
    const unread = fields.filter(({ use }) => use === 'never' || use === 'printed').length;
    const path = one.path === null ? null : paths[one.path];
    return {
      rank: index + 1,
      pid: 310,
      program: 'planner.jar --server.port=8081',
      backend: 'field-mask',
      context: index + 1,
      call_path: [
        `shop.planner.PlannerService.${one.at}(PlannerService.java:${one.line})`,
        'shop.planner.OrderClient.fetch(OrderClient.java:17)',
      ],
      endpoint: `GET ${REQUESTS}${one.url}`,
      by: 'RestTemplate',
      class: `shop.planner.${one.of}`,
      responses: one.responses,
      responses_within: 0,
      responses_per_second: one.responses / SECONDS,
      objects_per_response: one.objects,
      too_large: 0,
      decided: one.decided,
      censored: one.decided === 0 ? 12 : 3,
      lost: one.at === 'plan' ? 5 : 0,
      utilisation: one.decided === 0 ? null : used / (one.decided * fields.length),
      bytes_per_response: bytes * one.objects,
      wasted_bytes_per_response: vain * one.objects,
      wasted_bytes_per_second: (vain * one.objects * one.responses) / SECONDS,
      fields,
      advice: {
        text: adviceOf(one.decided, unread, fields.length),
        is_needed: unread > 0,
      },
      paths: path
        ? [
            {
              rank: path.rank,
              path: path.path,
              inclusive: path.inclusive,
              share: path.inclusive / latency,
            },
          ]
        : [],
      no_path: path ? null : whyNoPath(one.at),
    };
  });
  return {
    processes: 1,
    backends: { 'field-mask': 1 },
    responses: made.reduce((all, { responses }) => all + responses, 0),
    left_out: {
      responses_without_context: 0,
      responses_without_objects: 0,
      responses_not_looked_into: 0,
      failures: 0,
      classes_not_rewritten: 0,
      reads_unseen: 0,
      too_many: 0,
      registers_busy: 1234,
    },
    services: {
      requests,
      latency,
      paths: paths.length,
      rows_on_paths: 2,
      rows_without: { no_process: 0, no_call: 1, ambiguous: 2, not_told: 0 },
    },
    rows: rows.length,
    transfers: rows,
  };
}
