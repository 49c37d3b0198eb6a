// Holds `slowpath serve` to the Trace Server Protocol 0.6.0.
//
// The protocol's own client makes every call, through a proxy that holds each answer to the published
// description (API.yaml), and compares its shape with what Trace Compass's server gave. Not a test of
// what the answers say: crates/server tests that.
//
//     node conformance.mjs SLOWPATH TRACE API.yaml [REFERENCE-FOLDER]
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync, existsSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { createRequire } from 'node:module';
import Ajv from 'ajv';
import YAML from 'yaml';

const require = createRequire(import.meta.url);
const { HttpTspClient } = require('tsp-typescript-client/lib/protocol/http-tsp-client');
const { Query } = require('tsp-typescript-client/lib/models/query/query');

const [slowpath, trace, description, reference] = process.argv.slice(2);
const api = YAML.parse(readFileSync(description, 'utf8'));
const failures = [];
const seen = new Map(); // template and method → answers
let checks = 0;

function check(holds, what) {
  checks += 1;
  if (!holds) {
    failures.push(what);
  }
}

// --- the description -------------------------------------------------------------------------------

// Published with `type: object` beside a choice of a text and numbers, which nothing can be at once; Trace
// Compass's server answers with texts and numbers.
for (const name of ['StyleValue', 'MetadataValue']) {
  api.components.schemas[name] = { anyOf: api.components.schemas[name].oneOf };
}
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema({ ...api, $id: 'api' });

function templateOf(url) {
  const parts = url.split('/');
  const fits = Object.keys(api.paths).filter((template) => {
    const wanted = template.split('/');
    return wanted.length === parts.length && wanted.every((part, i) => part.startsWith('{') || part === parts[i]);
  });
  const literal = (template) => template.split('/').filter((part) => !part.startsWith('{')).length;
  return fits.sort((one, other) => literal(other) - literal(one))[0];
}

function holdToDescription(method, url, status, body) {
  const template = templateOf(url);
  const what = `${method} ${url} (${status})`;
  const operation = api.paths[template]?.[method.toLowerCase()];
  if (!operation) {
    return;
  }
  const answer = operation.responses[status];
  check(answer !== undefined, `${what}: the protocol has no such status here`);
  const pointer = `#/paths/${template.replace(/\//g, '~1')}/${method.toLowerCase()}/responses/${status}/content/application~1json/schema`;
  if (answer?.content?.['application/json']) {
    const encoded = pointer.replace(/[{}]/g, (symbol) => encodeURIComponent(symbol));
    const validate = ajv.getSchema(`api${encoded}`);
    const valid = validate(body);
    check(valid, `${what}: ${ajv.errorsText(validate.errors)}: ${JSON.stringify(body).slice(0, 300)}`);
  }
  const key = `${method} ${template}`;
  seen.set(key, [...(seen.get(key) ?? []), { status, body }]);
}

// --- the server and the proxy ----------------------------------------------------------------------

const server = spawn(slowpath, ['serve', trace, '--port', '0'], { stdio: ['ignore', 'ignore', 'pipe'] });
const address = await new Promise((resolve, reject) => {
  let said = '';
  server.stderr.on('data', (data) => {
    said += data;
    const found = said.match(/http:\/\/([\d.]+):(\d+)/);
    if (found) {
      resolve({ host: found[1], port: Number(found[2]) });
    }
  });
  server.on('exit', () => reject(new Error(`the server ended: ${said}`)));
});
process.on('exit', () => server.kill());

const proxy = http.createServer((incoming, outgoing) => {
  const body = [];
  incoming.on('data', (part) => body.push(part));
  incoming.on('end', () => {
    const headers = { ...incoming.headers, host: `${address.host}:${address.port}` };
    const forwarded = http.request({ ...address, path: incoming.url, method: incoming.method, headers }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => {
        const text = Buffer.concat(parts).toString();
        const url = decodeURIComponent(incoming.url.replace('/tsp/api', '').split('?')[0]);
        const json = text.length > 0 ? JSON.parse(text) : undefined;
        holdToDescription(incoming.method, url, answer.statusCode, json);
        outgoing.writeHead(answer.statusCode, { 'content-type': 'application/json' });
        outgoing.end(text);
      });
    });
    forwarded.end(Buffer.concat(body));
  });
});
await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
const base = `http://127.0.0.1:${proxy.address().port}/tsp/api`;
const client = new HttpTspClient(base);

// --- every call of the client ----------------------------------------------------------------------

/** Asks until it is complete, as viewers do. */
async function complete(what, ask) {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const answer = await ask();
    check(answer.isOk(), `${what}: status ${answer.getStatusCode()}`);
    const model = answer.getModel();
    if (model?.status === 'COMPLETED') {
      return model.model;
    }
    if (model?.status !== 'RUNNING') {
      check(false, `${what}: ${model?.status} ${model?.statusMessage}`);
      return undefined;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  check(false, `${what}: still running`);
  return undefined;
}

check((await client.checkHealth()).getModel().status === 'UP', 'health');
check((await client.fetchIdentifier()).getModel().tspVersion === '0.6.0', 'identifier');
const traces = (await client.fetchTraces()).getModel();
check(traces.length === 1, 'one trace');
await client.fetchTrace(traces[0].UUID);
const opened = (await client.openTrace(new Query({ uri: path.resolve(trace), name: 'again' }))).getModel();
check(opened?.UUID === traces[0].UUID, 'opening what is open gives the same trace');
const [open] = (await client.fetchExperiments()).getModel();
let experiment = (await client.fetchExperiment(open.UUID)).getModel();
for (let attempt = 0; experiment.indexingStatus === 'RUNNING' && attempt < 600; attempt += 1) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  experiment = (await client.fetchExperiment(experiment.UUID)).getModel();
}
check(experiment.nbEvents > 0, 'events are counted');
const { UUID: uuid, start, end } = experiment;
const outputs = (await client.experimentOutputs(uuid)).getModel();
const range = (samples) => ({ requested_timerange: { start, end, nbTimes: samples } });
await complete('marker sets', () => client.fetchMarkerSets(uuid));

for (const output of outputs) {
  const { id, type } = output;
  if (type === 'TIME_GRAPH') {
    const tree = await complete(`${id} tree`, () => client.fetchTimeGraphTree(uuid, id, new Query(range(2))));
    const items = tree.entries.filter((entry) => entry.hasData).slice(0, 50).map((entry) => entry.id);
    check(items.length > 0, `${id} has rows`);
    const asked = new Query({ ...range(500), requested_items: items });
    const states = await complete(`${id} states`, () => client.fetchTimeGraphStates(uuid, id, asked));
    check(states.rows.some((row) => row.states.length > 0), `${id} has states`);
    for (const row of states.rows) {
      const inOrder = row.states.every((state, i) => state.start < state.end && (i === 0 || row.states[i - 1].end <= state.start));
      check(inOrder, `${id}: the states of row ${row.entryId} are in order and apart`);
    }
    await complete(`${id} arrows`, () => client.fetchTimeGraphArrows(uuid, id, new Query(range(500))));
    const row = states.rows.find((row) => row.states.length > 0);
    const element = { elementType: 'STATE', time: row.states[0].start, duration: row.states[0].end - row.states[0].start };
    const at = new Query({ requested_items: [row.entryId], requested_times: [row.states[0].start], requested_element: element });
    const tooltip = await complete(`${id} tooltip`, () => client.fetchTimeGraphTooltip(uuid, id, at));
    check(Object.keys(tooltip ?? {}).length > 0, `${id}: a tooltip says something`);
    const styles = await complete(`${id} style`, () => client.fetchStyles(uuid, id, new Query({})));
    const keys = new Set(states.rows.flatMap((row) => row.states.map((state) => state.style?.parentKey)));
    keys.delete(undefined);
    check([...keys].every((key) => key in styles.styles), `${id}: every state has a style`);
    await client.fetchAnnotationsCategories(uuid, id);
    await complete(`${id} annotations`, () => client.fetchAnnotations(uuid, id, new Query(range(500))));
  } else if (type === 'TREE_TIME_XY') {
    const tree = await complete(`${id} tree`, () => client.fetchXYTree(uuid, id, new Query(range(2))));
    const asked = new Query({ ...range(100), requested_items: tree.entries.map((entry) => entry.id) });
    const xy = await complete(`${id} xy`, () => client.fetchXY(uuid, id, asked));
    check(xy.series.length === tree.entries.length, `${id}: a series for each entry`);
    check(xy.series.every((series) => series.xValues.length === 100 && series.yValues.length === 100), `${id}: as many values as samples`);
  } else if (type === 'TREE_GENERIC_XY') {
    await complete(`${id} tree`, () => client.fetchGenericXYTree(uuid, id, new Query(range(2))));
    const asked = new Query({ requested_timerange: { start, end, nbSamples: 20 }, requested_items: [0] });
    const xy = await complete(`${id} xy`, () => client.fetchGenericXY(uuid, id, asked));
    check(xy.series[0].yValues.length === 20, `${id}: as many bars as samples`);
  } else if (type === 'TABLE') {
    const columns = await complete(`${id} columns`, () => client.fetchTableColumns(uuid, id, new Query({})));
    const page = (parameters) => complete(`${id} lines`, () => client.fetchTableLines(uuid, id, new Query(parameters)));
    const lines = await page({ requested_table_index: 3, requested_table_count: 7 });
    check(lines.lines.length === 7 && Number(lines.lowIndex ?? lines.lines[0].index) === 3, `${id}: the lines that were asked for`);
    check(lines.lines.every((line) => line.cells.length === columns.length), `${id}: a cell for each column`);
    const word = lines.lines[6].cells[4].content;
    await page({ requested_table_index: 3, requested_table_count: 1, table_search_expressions: { 4: word }, table_search_direction: 'NEXT' });
    await page({ requested_table_index: 9, requested_table_count: 1, table_search_expressions: { 4: word }, table_search_direction: 'PREVIOUS' });
    await page({ requested_times: [start], requested_table_count: 1, requested_table_column_ids: [0, 1] });
  } else if (type === 'DATA_TREE') {
    await complete(`${id} tree`, () => client.fetchDataTree(uuid, id, new Query(range(2))));
  } else {
    check(false, `${id}: the test does not know type ${type}`);
  }
  await client.fetchOutputConfigurationTypes(uuid, id);
}
await client.fetchConfigurationSourceTypes();

// --- what must be refused, in the protocol's way ---------------------------------------------------

async function refused(what, status, ask) {
  const answer = await ask();
  check(answer.getStatusCode() === status, `${what}: status ${answer.getStatusCode()}, not ${status}`);
}
const nobody = '00000000-0000-0000-0000-000000000000';
const graph = outputs.find((output) => output.type === 'TIME_GRAPH').id;
const table = outputs.find((output) => output.type === 'TABLE').id;
await refused('unknown experiment', 404, () => client.fetchExperiment(nobody));
await refused('outputs of an unknown experiment', 404, () => client.experimentOutputs(nobody));
await refused('unknown trace', 404, () => client.fetchTrace(nobody));
await refused('a path that was not opened', 404, () => client.openTrace(new Query({ uri: '/etc', name: 'x' })));
await refused('unknown output', 404, () => client.fetchTimeGraphTree(uuid, 'no.such.output', new Query({})));
await refused('states without a range', 400, () => client.fetchTimeGraphStates(uuid, graph, new Query({ requested_items: [1] })));
await refused('states without items', 400, () => client.fetchTimeGraphStates(uuid, graph, new Query(range(5))));
await refused('a range that ends before it begins', 400, () =>
  client.fetchTimeGraphStates(uuid, graph, new Query({ requested_timerange: { start: end, end: start, nbTimes: 5 }, requested_items: [1] })));
await refused('no samples', 400, () =>
  client.fetchTimeGraphStates(uuid, graph, new Query({ requested_timerange: { start, end, nbTimes: -1 }, requested_items: [1] })));
await refused('a tooltip of nothing', 400, () =>
  client.fetchTimeGraphTooltip(uuid, graph, new Query({ requested_items: [1], requested_times: [start] })));
await refused('lines without a count', 400, () => client.fetchTableLines(uuid, table, new Query({ requested_table_index: 0 })));
await refused('lines of a time graph', 405, () => client.fetchTableLines(uuid, graph, new Query({ requested_table_index: 0, requested_table_count: 1 })));
await refused('styles of a table', 405, () => client.fetchStyles(uuid, table, new Query({})));
await refused('an experiment of unknown traces', 404, () => client.createExperiment(new Query({ name: 'x', traces: [nobody] })));
await refused('an unknown configuration', 404, () => client.fetchConfigurationSourceType('x'));
await refused('deleting a trace in use', 409, () => client.deleteTrace(traces[0].UUID));

// Bookmarks, which the client does not know.
async function call(method, url, parameters) {
  const answer = await fetch(base + url, {
    method,
    headers: { 'content-type': 'application/json' },
    body: parameters ? JSON.stringify({ parameters }) : undefined,
  });
  return { status: answer.status, body: await answer.json() };
}
const bookmarks = `/experiments/${uuid}/bookmarks`;
const bookmark = (await call('POST', bookmarks, { name: 'here', start: 1, end: 2 })).body;
check((await call('GET', bookmarks)).body.length === 1, 'a bookmark was set');
await call('PUT', `${bookmarks}/${bookmark.uuid}`, { name: 'there', start: 3, end: 4 });
check((await call('GET', `${bookmarks}/${bookmark.uuid}`)).body.name === 'there', 'a bookmark was changed');
await call('DELETE', `${bookmarks}/${bookmark.uuid}`);
check((await call('GET', `${bookmarks}/${bookmark.uuid}`)).status === 404, 'a bookmark was removed');

// Closing and opening again.
await client.deleteExperiment(uuid);
check((await client.fetchExperiments()).getModel().length === 0, 'a closed experiment is gone');
await refused('a closed experiment', 404, () => client.fetchExperiment(uuid));
await client.deleteTrace(traces[0].UUID);
check((await client.fetchTraces()).getModel().length === 0, 'a closed trace is gone');
const again = (await client.openTrace(new Query({ uri: path.resolve(trace), name: 'again' }))).getModel();
const reopened = (await client.createExperiment(new Query({ name: 'again', traces: [again.UUID] }))).getModel();
check(reopened.UUID === uuid && reopened.name === 'again', 'an experiment is opened again');

// --- the shapes of Trace Compass's server ----------------------------------------------------------

/** What its server adds for its own analyses, or leaves to chance. */
const ownMatter = [/\.properties\./, /\.styles\./, /\.metadata/, /\.tags$/, /\.style\./, /os_?version/i, /\.maxMemory$/, /\.label$/, /\.detail$/];

function shapeOf(value, at = '', shape = new Map()) {
  if (Array.isArray(value)) {
    shape.set(at, 'array');
    value.filter((item) => typeof item !== 'string' || !item.startsWith('\u2026')).forEach((item) => shapeOf(item, `${at}[]`, shape));
  } else if (value !== null && typeof value === 'object') {
    shape.set(at, 'object');
    Object.entries(value).forEach(([key, inner]) => shapeOf(inner, `${at}.${key}`, shape));
  } else if (value !== null) {
    shape.set(at, typeof value);
  }
  return shape;
}

let compared = 0;
if (reference && existsSync(reference)) {
  for (const file of readdirSync(reference).sort()) {
    const { request, status, response } = JSON.parse(readFileSync(path.join(reference, file), 'utf8'));
    const key = `${request.method} ${templateOf(request.path)}`;
    const ours = (seen.get(key) ?? []).filter((answer) => answer.status === status && (answer.body?.status === response?.status || status !== 200));
    if (response === null || status !== 200) {
      continue;
    }
    check(ours.length > 0, `${file}: nothing of the kind was asked of slowpath`);
    const shape = new Map(ours.flatMap(({ body }) => [...shapeOf(body)]));
    for (const [at, kind] of shapeOf(response)) {
      if (!ownMatter.some((pattern) => pattern.test(at))) {
        check(shape.get(at) === kind, `${file}: ${at || 'the answer'} is ${kind} there, ${shape.get(at)} here`);
      }
    }
    compared += 1;
  }
} else {
  console.log('SKIPPED: shapes of Trace Compass\u2019s answers, which are not here');
}

// Every call of the protocol was made.
for (const [template, methods] of Object.entries(api.paths)) {
  for (const method of Object.keys(methods)) {
    const key = `${method.toUpperCase()} ${template}`;
    const isConfiguration = template.includes('/config/types/{') || template.includes('{derivedOutputId}') || template.includes('configTypes/{');
    const derives = key === 'POST /experiments/{expUUID}/outputs/{outputId}';
    const ofOne = key === 'GET /experiments/{expUUID}/outputs/{outputId}';
    if (ofOne) {
      check((await call('GET', `/experiments/${uuid}/outputs/${graph}`)).status === 200, key);
    } else if (!isConfiguration && !derives) {
      check(seen.has(key), `${key} was never called`);
    }
  }
}

server.kill();
proxy.close();
proxy.closeAllConnections();
console.log(`${checks} checks, ${seen.size} calls, ${compared} answers compared with Trace Compass's`);
failures.slice(0, 40).forEach((failure) => console.log(`FAILED: ${failure}`));
process.exitCode = failures.length > 0 ? 1 : 0;
