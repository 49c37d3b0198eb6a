// What test/cost.mjs measures: `spans` makes spans and nothing else, three awaits for each three of
// them; `http` serves requests with three spans each to a client in the same process. Prints the
// processor time for one request in nanoseconds. Warm-up is not counted.
import http from 'node:http';
import { trace } from '@opentelemetry/api';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

new NodeTracerProvider({ spanProcessors: [] }).register();
const tracer = trace.getTracer('cost');

const request = () =>
  tracer.startActiveSpan('request', async (span) => {
    await null;
    for (const name of ['first', 'second'])
      await tracer.startActiveSpan(name, async (child) => {
        await null;
        child.end();
      });
    span.end();
  });

const agent = new http.Agent({ keepAlive: true });
const get = (port) =>
  new Promise((resolve, reject) => {
    http.get({ port, host: '127.0.0.1', agent }, (answer) => answer.resume().on('end', resolve)).on('error', reject);
  });

async function measured(count, once) {
  for (let i = 0; i < count; i++) await once();
  const before = process.cpuUsage();
  for (let i = 0; i < count; i++) await once();
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / count;
}

if (process.argv[2] === 'spans') {
  console.log(await measured(60_000, request));
} else {
  const server = http.createServer(async (_, response) => {
    await request();
    response.end('done');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  console.log(await measured(1_500, () => get(server.address().port)));
  server.close();
  agent.destroy();
}
