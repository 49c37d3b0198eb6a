// HTTPS and HTTP/2 over TLS, served by a thread of its own; each third request over HTTPS is given up before it is
// sent. Prints how many were answered. Knows nothing of the agent.
'use strict';

const https = require('https');
const http2 = require('http2');
const { readFileSync } = require('fs');
const { Worker, isMainThread, parentPort } = require('worker_threads');

const COUNT = 60;
const listens = (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));

if (!isMainThread) {
  const own = { key: readFileSync(process.env.KEY), cert: readFileSync(process.env.CERTIFICATE) };
  const answer = (request, response) => response.end('done');
  Promise.all([listens(https.createServer(own, answer)), listens(http2.createSecureServer(own, answer))]).then((ports) =>
    parentPort.postMessage(ports),
  );
} else {
  new Worker(__filename).once('message', async ([port, port2]) => {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 4, rejectUnauthorized: false });
    const session = http2.connect(`https://127.0.0.1:${port2}`, { rejectUnauthorized: false });
    const byHttps = (i) =>
      new Promise((resolve) => {
        const request = https.get({ agent, host: '127.0.0.1', port, path: `/https/${i}` }, (response) =>
          response.resume().on('end', () => resolve(1)),
        );
        request.on('error', () => resolve(0));
        if (i % 3 === 0) request.destroy();
      });
    const byHttp2 = (i) =>
      new Promise((resolve) => session.request({ ':path': `/http2/${i}` }).resume().on('end', () => resolve(1)));
    const all = Array.from({ length: COUNT }, (_, i) => [byHttps(i), byHttp2(i)]).flat();
    const answered = (await Promise.all(all)).reduce((sum, one) => sum + one);
    console.log(JSON.stringify({ answered }));
    process.exit(0);
  });
}
