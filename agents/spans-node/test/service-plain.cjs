// An application that knows nothing of OpenTelemetry; the official automatic instrumentation makes its
// spans. It knows the trace of a request by the header that the client sent.
const { promisify } = require('node:util');
const { readFile } = require('node:fs/promises');
const { serve, sleep, work } = require('./work.cjs');

serve(async (request, response) => {
  const trace = request.headers.traceparent.split('-')[1];
  work(trace);
  await sleep(2);
  work(trace);
  await readFile(__filename);
  work(trace);
  await promisify(setImmediate)();
  work(trace);
  response.end('done');
});
