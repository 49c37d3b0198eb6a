// The agent in real applications, under a real LTTng session. Not a test of the C library's events
// themselves: see ../spans-native.
import assert from 'node:assert/strict';
import http from 'node:http';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import {
  assertProperlyNested,
  assertStartsAndEnds,
  assertWorkIsFollowed,
  load,
  recorded,
  register,
  service,
  skip,
} from './support.mjs';

for (const SDK of ['@opentelemetry/sdk-trace-node', 'sdk-trace-node-1']) {
  test(`an ES module with its own SDK (${SDK})`, { skip }, async () => {
    let truth, pid;
    const events = await recorded(async () => {
      const running = await service('service-own-sdk.mjs', { env: { SDK } });
      pid = running.pid;
      await load(running.port);
      truth = await running.stop();
    });
    assert.equal(truth.talk, '');
    const spans = truth.lines.filter((line) => line.ended);
    const work = truth.lines.filter((line) => line.begin);
    assert.equal(spans.length, 54 * 4); // of 60 requests the sampler drops those whose id ends in 7
    assert.ok(work.length > 54 * 10);
    assertStartsAndEnds(events, spans);
    assertProperlyNested(events);
    assertWorkIsFollowed(events, work, pid);
  });
}

test('a plain application with the official automatic instrumentation', { skip }, async () => {
  const spans = [];
  const collector = http.createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    for (const resource of JSON.parse(body).resourceSpans ?? [])
      for (const scope of resource.scopeSpans)
        for (const { traceId, spanId } of scope.spans) spans.push({ trace: traceId, span: spanId });
    response.setHeader('content-type', 'application/json');
    response.end('{}');
  });
  await new Promise((resolve) => collector.listen(0, '127.0.0.1', resolve));
  let truth, pid;
  const events = await recorded(async () => {
    const running = await service('service-plain.cjs', {
      requires: [register, '@opentelemetry/auto-instrumentations-node/register'],
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.address().port}`,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_METRICS_EXPORTER: 'none',
        OTEL_LOGS_EXPORTER: 'none',
        OTEL_BSP_SCHEDULE_DELAY: '50',
        OTEL_NODE_RESOURCE_DETECTORS: 'none',
      },
    });
    pid = running.pid;
    await load(running.port);
    await new Promise((resolve) => setTimeout(resolve, 500));
    truth = await running.stop();
  });
  collector.close();
  collector.closeAllConnections();
  assert.ok(spans.length >= 60);
  assertStartsAndEnds(events, spans);
  assertProperlyNested(events);
  assertWorkIsFollowed(events, truth.lines, pid);
});

test('a recording that begins and ends while the application runs', { skip }, async () => {
  const running = await service('service-own-sdk.mjs', { env: { SDK: '@opentelemetry/sdk-trace-node' } });
  await load(running.port, { count: 10 });
  const first = await recorded(() => load(running.port, { count: 20 }));
  await load(running.port, { count: 10 });
  const second = await recorded(() => load(running.port, { count: 20 }));
  await running.stop();
  for (const events of [first, second]) {
    assertProperlyNested(events);
    const starts = events.filter((event) => event.name === 'start_span');
    assert.equal(starts.length, 18 * 4);
    assertStartsAndEnds(events, starts);
    assert.ok(events.some((event) => event.name === 'attach'));
  }
});

test('what an earlier recording followed is not followed in the next one', async () => {
  const require = createRequire(import.meta.url);
  let recorded = true;
  let told = [];
  const native = {
    ids: new Uint32Array(6),
    isRecording: () => recorded,
    start() {},
    end() {},
    follow: () => told.push(native.ids[5]),
  };
  class Span {
    constructor(id) {
      this.id = id;
    }
    spanContext() {
      return { traceId: '1'.padStart(32, '0'), spanId: this.id.padStart(16, '0') };
    }
    isRecording() {
      return true;
    }
    end() {}
  }
  class Tracer {
    startSpan(id) {
      return new Span(id);
    }
  }
  const tracer = new Tracer();
  const contextOf = (span) => ({ getValue: () => span });
  let active = contextOf(undefined);
  const manager = { active: () => active, with: (context, body) => body() };
  const follower = require('../lib/follower.js').create(native);
  require('../lib/spans.js').tell({ getTracer: () => tracer }, native, follower);
  follower.watch(manager);
  active = contextOf(tracer.startSpan('1'));
  await new Promise((resolve) =>
    setTimeout(() => {
      const child = tracer.startSpan('2');
      manager.with(contextOf(child), () => {
        recorded = false;
        child.end();
      });
      recorded = true;
      const next = tracer.startSpan('3');
      told = [];
      manager.with(contextOf(next), () => {});
      recorded = false;
      next.end();
      resolve();
    }),
  );
  assert.deepEqual(told, [3, 0]);
});

test('without the C library the application is served, after one line on stderr', async () => {
  const running = await service('service-own-sdk.mjs', {
    env: { SDK: '@opentelemetry/sdk-trace-node', SLOWPATH_SPANS_LIBRARY: '/nowhere/libslowpath_spans.so' },
  });
  await load(running.port);
  const { talk, status } = await running.stop();
  assert.equal(status, 0);
  assert.match(talk, /^slowpath: spans are not recorded: \/nowhere\/libslowpath_spans\.so: .*\n$/);
});

test('an application without OpenTelemetry is left alone', async () => {
  const running = await service('service-plain.cjs');
  await load(running.port);
  assert.equal((await running.stop()).talk, '');
});
