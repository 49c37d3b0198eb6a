// What requests share: connections that one of them opens and all use, as those to a database. What comes over such a
// connection is not for the request that was served when it was opened. For whom it is, the application's promises and
// timers know by themselves; of the databases' clients that take callbacks, the agent keeps it.
'use strict';

const net = require('net');
const tls = require('tls');
const { followFiles } = require('./modules.cjs');

const UNKNOWN = 0;
const CALLBACKS = ['query', 'execute', 'connect', 'getConnection'];

function follow(recording) {
  for (const [owner, name] of [
    [net.Socket.prototype, 'connect'],
    [tls, 'connect'],
  ]) {
    const connect = owner[name];
    owner[name] = function () {
      if (!recording.on) return connect.apply(this, arguments);
      return recording.inContext(UNKNOWN, () => connect.apply(this, arguments));
    };
  }

  const bound = (work, context) =>
    function () {
      return recording.inContext(context, () => work.apply(this, arguments));
    };

  function wrap(prototype, name) {
    if (!prototype || !Object.hasOwn(prototype, name) || typeof prototype[name] !== 'function') return;
    const ask = prototype[name];
    prototype[name] = function (...given) {
      if (!recording.on) return ask.apply(this, given);
      const context = recording.currentContext();
      return ask.apply(this, given.map((one) => (typeof one === 'function' ? bound(one, context) : one)));
    };
  }

  const wrapAll = (Class) => CALLBACKS.forEach((name) => wrap(Class?.prototype, name));
  followFiles(recording, [
    [/[/\\]pg[/\\]lib[/\\]client\.js$/, wrapAll],
    [/[/\\]pg-pool[/\\]index\.js$/, wrapAll],
    [/[/\\]mysql2?[/\\]lib[/\\](base[/\\])?(connection|pool)\.js$/i, wrapAll],
  ]);
}

module.exports = { follow };
