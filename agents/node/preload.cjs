// Entry of the agent: `NODE_OPTIONS="--require …/node/preload.cjs"` tells slowpath which HTTP requests and
// Redis commands a stock Node handles, over which connections, for which request, and how late its event
// loop is. The application is not changed. Nothing in here may throw into it: what fails ends the agent.
'use strict';

const once = Symbol.for('slowpath.node');

if (!globalThis[once]) {
  Object.defineProperty(globalThis, once, { value: true });
  try {
    const native = require('./lib/native.cjs').load();
    const recording = require('./lib/recording.cjs').create(native);
    require('./lib/http1.cjs').follow(recording);
    require('./lib/undici.cjs').follow(recording);
    require('./lib/http2.cjs').follow(recording);
    require('./lib/grpc.cjs').follow(recording);
    require('./lib/redis.cjs').follow(recording);
    require('./lib/shared.cjs').follow(recording);
    require('./lib/event-loop.cjs').follow(recording);
    require('module').syncBuiltinESMExports();
    recording.watch();
  } catch (cause) {
    require('./lib/native.cjs').say(cause);
  }
}
