// Entry of the agent: `node --require …/spans-node/register.js` (or NODE_OPTIONS) tells slowpath which
// OpenTelemetry span each thread works on. It waits for OpenTelemetry to register itself, in whatever
// way the application sets it up, and is nothing but a few unused functions where that never happens.
// Not an SDK: it creates no span and exports none. Nothing in here may throw into the application.
'use strict';

const once = Symbol.for('slowpath.spans-node');

if (!globalThis[once]) {
  Object.defineProperty(globalThis, once, { value: true });
  try {
    const native = require('./lib/native').load();
    const follower = require('./lib/follower').create(native);
    require('./lib/opentelemetry').whenRegistered({
      tracerProvider: (provider) => require('./lib/spans').tell(provider, native, follower),
      contextManager: (manager) => follower.watch(manager),
    });
  } catch (cause) {
    // One line, once, for each process; threads of it stay silent.
    if (require('worker_threads').isMainThread) {
      process.stderr.write(`slowpath: spans are not recorded: ${String(cause.message).split('\n')[0]}\n`);
    }
  }
}
