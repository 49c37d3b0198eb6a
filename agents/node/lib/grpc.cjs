// Calls of @grpc/grpc-js, which are requests over HTTP/2 (http2.cjs). While a channel connects, it keeps calls, and makes
// all of them where it has connected: for whom, only the place knows where the application asked. So the two functions that
// go on with a call run for the request that it was made for.
'use strict';

const { followFiles } = require('./modules.cjs');

const UNKNOWN = 0;

function follow(recording) {
  const contexts = new WeakMap();
  const started = recording.guarded((call) => contexts.set(call, recording.currentContext()));

  /** A call goes on by `key` at once when it is started, and again when it need not wait any more. */
  function wrap(prototype, key) {
    const { start, [key]: goOn } = prototype ?? {};
    if (typeof start !== 'function' || typeof goOn !== 'function') return;
    prototype.start = function () {
      if (recording.on) started(this);
      return start.apply(this, arguments);
    };
    prototype[key] = function () {
      if (!recording.on) return goOn.apply(this, arguments);
      return recording.inContext(contexts.get(this) ?? UNKNOWN, () => goOn.apply(this, arguments));
    };
  }

  followFiles(recording, [
    [
      /[/\\]grpc-js[/\\]build[/\\]src[/\\]resolving-call\.js$/,
      (exports) => wrap(exports.ResolvingCall?.prototype, 'getConfig'),
    ],
    [
      /[/\\]grpc-js[/\\]build[/\\]src[/\\]load-balancing-call\.js$/,
      (exports) => wrap(exports.LoadBalancingCall?.prototype, 'doPick'),
    ],
  ]);
}

module.exports = { follow };
