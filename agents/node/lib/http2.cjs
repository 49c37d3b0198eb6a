// Requests over HTTP/2 by Node's own `http2`, which has no diagnostics channels in the versions that the
// agent is for. Servers and sessions may be made before anybody records, so what makes them is wrapped from
// the start. A request's number is the id of its stream.
'use strict';

const { SERVER_RECEIVE, SERVER_RESPONSE, CLIENT_REQUEST, CLIENT_RESPONSE } = require('./moments.cjs');
const { pathOf } = require('./paths.cjs');

function follow(recording) {
  let http2;
  try {
    http2 = require('http2');
  } catch {
    return; // a Node without OpenSSL has none
  }

  const connections = new WeakMap();
  /** Undefined where the session is over already: then its socket is gone, and asking for it throws. */
  const connectionOf = (session) => {
    if (!session || session.destroyed || !session.socket) return undefined;
    if (!connections.has(session)) connections.set(session, recording.connectionOf(session.socket));
    return connections.get(session);
  };

  const received = recording.guarded((stream, headers) => {
    const connection = connectionOf(stream.session);
    if (!connection) return;
    const work = {
      context: recording.newNumber(),
      cause: 0,
      connection,
      number: stream.id,
      version: 20,
    };
    recording.enterContext(work.context);
    recording.tellRequest(SERVER_RECEIVE, work, 0, headers[':method'], pathOf(headers[':path']));
    const finished = () => recording.on && recording.tellResponse(SERVER_RESPONSE, work, stream.sentHeaders?.[':status']);
    stream.once('finish', recording.guarded(finished));
    belongs(stream, work.context);
  });
  // What the stream is sent comes in the context in which Node made it, before anybody was told of it. So what listens to the
  // stream is called for its request.
  const belongs = (stream, context) => {
    const { turn } = recording;
    const { emit } = stream;
    stream.emit = function () {
      if (!recording.on || recording.turn !== turn) return emit.apply(this, arguments);
      return recording.inContext(context, () => emit.apply(this, arguments));
    };
  };
  for (const name of ['createServer', 'createSecureServer']) {
    const create = http2[name];
    http2[name] = function () {
      const server = create.apply(this, arguments);
      server.prependListener('stream', (stream, headers) => {
        if (recording.on) received(stream, headers);
      });
      return server;
    };
  }

  const asked = recording.guarded((stream, headers) => {
    const work = { context: recording.newNumber(), cause: recording.currentContext(), version: 20 };
    const method = headers?.[':method'] ?? 'GET';
    const path = pathOf(headers?.[':path'] ?? '/');
    const tell = recording.guarded(() => {
      work.connection = recording.on ? connectionOf(stream.session) : undefined;
      if (!work.connection) return;
      work.number = stream.id;
      recording.tellRequest(CLIENT_REQUEST, work, 0, method, path);
    });
    if (stream.pending) stream.prependOnceListener('ready', tell);
    else tell();
    const answered = (answer) => {
      if (recording.on && work.connection) recording.tellResponse(CLIENT_RESPONSE, work, answer[':status']);
    };
    stream.prependOnceListener('response', recording.guarded(answered));
  });
  const connect = http2.connect;
  const wrapped = new WeakSet();
  http2.connect = function () {
    const session = connect.apply(this, arguments);
    const prototype = Object.getPrototypeOf(session);
    if (!wrapped.has(prototype) && typeof prototype.request === 'function') {
      wrapped.add(prototype);
      const request = prototype.request;
      prototype.request = function (headers) {
        const stream = request.apply(this, arguments);
        if (recording.on) asked(stream, headers);
        return stream;
      };
    }
    return session;
  };
}

module.exports = { follow };
