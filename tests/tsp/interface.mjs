// Holds `slowpath serve` to the description of its own interface (docs/reference/openapi.json).
//
// Every question of the description is asked of every recording, with whatever it may be asked with; each answer
// must be one that the description has, with no field more or less. What is beyond a limit must be refused. Not
// a test of what the answers say: crates/cli/tests/serving.rs is.
//
//     node interface.mjs SLOWPATH openapi.json RECORDING…
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import Ajv from 'ajv/dist/2020.js';

const [slowpath, description, ...recordings] = process.argv.slice(2);
const api = JSON.parse(readFileSync(description, 'utf8'));
const failures = [];
const answered = new Set();
let checks = 0;

function check(holds, what) {
  checks += 1;
  if (!holds) {
    failures.push(what);
  }
}

// --- the description -------------------------------------------------------------------------------

// No field more than is described; a shape that is a part of others cannot say so itself.
const shapes = Object.values(api.components.schemas);
const parts = new Set(shapes.flatMap((shape) => (shape.allOf ?? []).map((part) => part.$ref?.split('/').pop())));
for (const [name, shape] of Object.entries(api.components.schemas)) {
  if ((shape.properties || shape.allOf) && !parts.has(name) && shape.additionalProperties === undefined) {
    shape.unevaluatedProperties = false;
  }
}
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema({ ...api, $id: 'api' });

/** What stands behind a reference, or the thing itself. */
function resolved(thing) {
  if (!thing.$ref) {
    return thing;
  }
  return thing.$ref.slice(2).split('/').reduce((inner, name) => inner[name], api);
}

function validatorOf(schema) {
  const closed = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/'));
  return ajv.compile(closed);
}

// --- questions -------------------------------------------------------------------------------------

/** What to ask with, by name of a parameter or a field. */
const values = (duration) => ({
  begin_ns: [0],
  end_ns: [duration],
  at_ns: [Math.round(duration / 2)],
  buckets: [20],
  pixels: [30],
  row: [1],
  server: [1],
  client: [1],
  id: [0],
  rows: [[0, 1, 2, 3]],
  touching: [1],
  requests: [[0, 1, 2]],
  one: [{ requests: [0, 1] }],
  other: [{ percentiles: [50, 100] }],
  metric: ['cost'],
  x: ['a'],
  y: ['b'],
  by: ['b'],
});

function valuesOf({ name, schema }, known) {
  const choices = (schema.oneOf ?? [schema]).map(resolved).flatMap((choice) => choice.enum ?? []);
  return choices.length > 0 ? choices : (known[name] ?? []);
}

/** Everything that an operation is asked with: parameters and fields of the body alike. */
function inputsOf(operation) {
  const body = operation.requestBody && resolved(operation.requestBody.content['application/json'].schema);
  const fields = Object.entries(body?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'body',
    required: (body.required ?? []).includes(name),
    schema,
  }));
  return [...(operation.parameters ?? []), ...fields];
}

/** Fields of which exactly one has to be there, which the description cannot say but in words. */
const EITHER = ['rows', 'touching'];

/** The questions of an operation: what is needed alone, and each other input besides. */
function questionsOf(what, operation, known) {
  const inputs = inputsOf(operation);
  const needed = inputs.filter((input) => input.required);
  for (const input of needed) {
    check(valuesOf(input, known).length > 0, `${what}: this test has no value for ${input.name}`);
  }
  const either = inputs.filter(({ name }) => EITHER.includes(name));
  const needsOne = either.length === EITHER.length;
  const always = needsOne ? [...needed, either[0]] : needed;
  const plain = new Map(always.map((input) => [input, valuesOf(input, known)[0]]));
  const more = inputs.flatMap((input) =>
    valuesOf(input, known).map((value) => {
      const others = needsOne && either.includes(input) ? either.filter((one) => one !== input) : [];
      return new Map([...plain].filter(([one]) => !others.includes(one))).set(input, value);
    }),
  );
  const beyond = inputs.flatMap((input) => {
    const { maximum, maxItems } = input.schema;
    if (maximum !== undefined) {
      return [new Map(plain).set(input, maximum + 1)];
    }
    return maxItems === undefined ? [] : [new Map(plain).set(input, new Array(maxItems + 1).fill(0))];
  });
  return { fits: [plain, ...more], beyond };
}

async function ask(base, method, template, inputs) {
  let path = template;
  const query = new URLSearchParams();
  const body = {};
  for (const [{ name, in: place }, value] of inputs) {
    if (place === 'path') {
      path = path.replace(`{${name}}`, String(value));
    } else if (place === 'query') {
      query.set(name, String(value));
    } else {
      body[name] = value;
    }
  }
  const url = `${base}${path}${query.size > 0 ? `?${query}` : ''}`;
  const question = { method: method.toUpperCase() };
  if (method === 'post') {
    Object.assign(question, { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
  }
  for (let attempt = 0; ; attempt += 1) {
    const answer = await fetch(url, question);
    const kind = answer.headers.get('content-type');
    const told = kind === 'application/json' ? await answer.json() : await answer.arrayBuffer();
    hold(`${method} ${url}`, api.paths[template][method], answer.status, kind, told);
    if (answer.status !== 202 || attempt === 600) {
      return answer.status;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function hold(what, operation, status, kind, told) {
  const described = operation.responses[status] && resolved(operation.responses[status]);
  check(described !== undefined, `${what}: the description has no status ${status}`);
  const content = described?.content?.[kind];
  check(content !== undefined, `${what}: the description has no ${kind} with status ${status}`);
  if (!content || kind !== 'application/json') {
    return;
  }
  const validate = validatorOf(content.schema);
  check(validate(told), `${what}: ${ajv.errorsText(validate.errors)}: ${JSON.stringify(told).slice(0, 300)}`);
}

// --- recordings ------------------------------------------------------------------------------------

async function served(recording) {
  const server = spawn(slowpath, ['serve', recording, '--port', '0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  process.on('exit', () => server.kill());
  const base = await new Promise((resolve, reject) => {
    let said = '';
    server.stderr.on('data', (data) => {
      said += data;
      const found = said.match(/http:\/\/[\d.]+:\d+/);
      if (found) {
        resolve(found[0]);
      }
    });
    server.on('exit', () => reject(new Error(`the server ended: ${said}`)));
  });
  return { server, base };
}

for (const recording of recordings) {
  const { server, base } = await served(recording);
  const told = await (await fetch(`${base}/api/openapi.json`)).text();
  check(told === readFileSync(description, 'utf8'), `${description} is not what the server says of itself`);
  let duration = 1;
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const answer = await fetch(`${base}/api/recording`);
    if (answer.status === 200) {
      // Spans alone have no time of their own; a question has some.
      duration = Math.max(1, (await answer.json()).duration_ns);
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  for (const [template, operations] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const what = `${method} ${template}`;
      const { fits, beyond } = questionsOf(what, operation, values(duration));
      for (const question of fits) {
        const status = await ask(base, method, template, question);
        check([200, 404, 409].includes(status), `${what} of ${recording}: status ${status}`);
        if (status === 200) {
          answered.add(what);
        }
      }
      for (const question of beyond) {
        const status = await ask(base, method, template, question);
        check([400, 409].includes(status), `${what} of ${recording}: status ${status} beyond a limit`);
      }
      const named = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      for (const parameter of named) {
        const status = await ask(base, method, template, new Map(fits[0]).set(parameter, 999_999_999));
        check([404, 409].includes(status), `${what}: status ${status} for what there is not`);
      }
    }
  }
  server.removeAllListeners('exit');
  server.kill();
}

for (const [template, operations] of Object.entries(api.paths)) {
  for (const method of Object.keys(operations)) {
    check(answered.has(`${method} ${template}`), `${method} ${template} was never answered`);
  }
}
console.log(`${checks} checks, ${answered.size} questions of the description answered`);
failures.slice(0, 40).forEach((failure) => console.log(`FAILED: ${failure}`));
process.exitCode = failures.length > 0 ? 1 : 0;
