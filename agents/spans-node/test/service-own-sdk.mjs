// An ES-module application that sets up its own SDK (which one: environment SDK) and makes its own
// spans: requests that leave the thread and come back by timers, promises and the thread pool.
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import crypto from 'node:crypto';
import { propagation, context, trace, ROOT_CONTEXT } from '@opentelemetry/api';
import { serve, sleep, work } from './work.cjs';

const sdk = createRequire(import.meta.url)(process.env.SDK);
const pbkdf2 = promisify(crypto.pbkdf2);
const spans = [];
const processor = {
  onStart() {},
  onEnd: (span) => spans.push({ ended: true, trace: span.spanContext().traceId, span: span.spanContext().spanId }),
  forceFlush: async () => {},
  shutdown: async () => {},
};
const provider = new sdk.NodeTracerProvider({
  spanProcessors: [processor],
  sampler: { shouldSample: (_, traceId) => ({ decision: traceId.endsWith('7') ? 0 : 2 }), toString: () => 'not7' },
});
if (provider.addSpanProcessor && !provider._registeredSpanProcessors?.length) provider.addSpanProcessor(processor);
provider.register();
const tracer = trace.getTracer('service');

const workOn = (span) => {
  const { traceId, spanId } = span.spanContext();
  if (span.isRecording()) work(traceId, spanId);
};

async function child(name, body) {
  return tracer.startActiveSpan(name, async (span) => {
    workOn(span);
    await body(span);
    workOn(span);
    span.end();
  });
}

serve(
  (request, response) => {
    const caller = propagation.extract(ROOT_CONTEXT, request.headers);
    tracer.startActiveSpan('request', {}, caller, async (span) => {
      workOn(span);
      await sleep(2);
      workOn(span);
      await child('hash', () => pbkdf2('x', 'y', 100, 16, 'sha256'));
      workOn(span);
      // Two children at once: both resume on this thread, in turns.
      await Promise.all([
        child('left', async (left) => {
          for (let i = 0; i < 3; i++) {
            await sleep(1);
            workOn(left);
          }
        }),
        child('right', async (right) => {
          for (let i = 0; i < 3; i++) {
            await new Promise(setImmediate);
            workOn(right);
          }
        }),
      ]);
      workOn(span);
      context.with(ROOT_CONTEXT, () => process.nextTick(() => {}));
      workOn(span);
      await Promise.resolve();
      workOn(span);
      span.end();
      response.end('done');
    });
  },
  () => spans,
);
