// How the shop's services ask each other: by Node's own http, over connections that are kept.
'use strict';

const http = require('http');

const agent = new http.Agent({ keepAlive: true, maxSockets: 50 });

/** Asks the service at its port, as start.sh names it; {status, body}. */
function ask(method, service, path, query) {
  const port = process.env[`${service.toUpperCase().replace('-', '_')}_PORT`];
  const target = `${path}?${new URLSearchParams(query)}`;
  return new Promise((resolve, reject) => {
    const request = http.request({ agent, host: '127.0.0.1', port, method, path: target }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (part) => (body += part));
      response.on('end', () => resolve({ status: response.statusCode, body }));
    });
    request.on('error', reject);
    request.end();
  });
}

module.exports = { ask };
