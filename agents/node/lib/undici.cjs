// Requests over HTTP/1.1 by undici, which also is Node's `fetch`, by its diagnostics channels: of the copy
// inside Node and of any in the application.
'use strict';

const { CLIENT_REQUEST, CLIENT_RESPONSE } = require('./moments.cjs');
const { pathOf } = require('./paths.cjs');
const { subscribeWhileOn } = require('./recording.cjs');

const WORK = Symbol('slowpath.work');

function follow(recording) {
  subscribeWhileOn(recording, {
    // Still in the code that asks; what comes later may run for another request.
    'undici:request:create'({ request }) {
      request[WORK] = { context: recording.newNumber(), cause: recording.currentContext(), version: 11 };
    },
    'undici:client:sendHeaders'({ request, socket }) {
      const work = request[WORK];
      if (!work || !socket) return;
      work.connection = recording.connectionOf(socket);
      work.number = work.connection.nextNumber();
      work.method = request.method;
      work.path = pathOf(request.path);
      recording.tellHttp(CLIENT_REQUEST, work, 0);
    },
    'undici:request:headers'({ request, response }) {
      const work = request[WORK];
      if (work && work.connection) recording.tellHttp(CLIENT_RESPONSE, work, response.statusCode);
    },
  });
}

module.exports = { follow };
