// Requests of Node's own `http` and `https`, served and made, by Node's diagnostics channels. One moment
// has no channel that fits: `http.client.request.start` comes when the request *ends*, after its head has
// been sent where it has a body; so the agent looks at `ClientRequest.onSocket`, which every agent calls.
'use strict';

const { SERVER_RECEIVE, SERVER_RESPONSE, CLIENT_REQUEST, CLIENT_RESPONSE } = require('./moments.cjs');
const { pathOf } = require('./paths.cjs');
const { subscribeWhileOn } = require('./recording.cjs');

const WORK = Symbol('slowpath.work');

function follow(recording) {
  subscribeWhileOn(recording, {
    'http.server.request.start'({ request, socket }) {
      const connection = recording.connectionOf(socket);
      const work = (request[WORK] = {
        context: recording.newNumber(),
        cause: 0,
        connection,
        number: connection.nextNumber(),
        version: 11,
      });
      recording.enterContext(work.context);
      recording.tellRequest(SERVER_RECEIVE, work, socket.bytesRead, request.method, pathOf(request.url));
    },
    'http.server.response.finish'({ request, response }) {
      if (request[WORK]) recording.tellResponse(SERVER_RESPONSE, request[WORK], response.statusCode);
    },
    'http.client.response.finish'({ request, response }) {
      if (request[WORK]) recording.tellResponse(CLIENT_RESPONSE, request[WORK], response.statusCode);
    },
  });

  /** `request` will be written to `socket`, which no other request uses before this one is answered. */
  const hasSocket = recording.guarded((request) => {
    const work = { context: recording.newNumber(), cause: recording.currentContext(), version: 11 };
    const tell = recording.guarded((socket, isNew) => {
      if (!recording.on) return;
      work.connection = recording.connectionOf(socket, isNew);
      work.number = work.connection.nextNumber();
      request[WORK] = work;
      const written = isNew ? 0 : socket.bytesWritten;
      recording.tellRequest(CLIENT_REQUEST, work, written, request.method, pathOf(request.path));
    });
    // 'socket' comes only where the request was not given up; its head is written next.
    request.prependOnceListener('socket', (socket) => {
      if (socket.connecting) socket.prependOnceListener('connect', () => tell(socket, true));
      else tell(socket, false);
    });
  });

  let isWrapped = false;
  recording.add({
    begin() {
      if (isWrapped) return;
      isWrapped = true;
      const prototype = require('http').ClientRequest.prototype;
      const onSocket = prototype.onSocket;
      prototype.onSocket = function (socket, error) {
        if (recording.on && socket && !error) hasSocket(this);
        return onSocket.apply(this, arguments);
      };
    },
  });
}

module.exports = { follow };
