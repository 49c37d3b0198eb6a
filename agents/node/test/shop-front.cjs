// A service as people write them: Express, and for each order three requests to another service, by each
// way that Node has, and a Redis command by each client. Knows nothing of the agent.
'use strict';

const http = require('http');
const http2 = require('http2');
const express = require('express');
const Redis = require('ioredis');
const { createClient } = require('@redis/client');

const { REDIS_PORT, BACK_PORT, BACK2_PORT } = process.env;
const agent = new http.Agent({ keepAlive: true, maxSockets: 12 });
const ioredis = new Redis(Number(REDIS_PORT), '127.0.0.1');
const nodeRedis = createClient({ socket: { host: '127.0.0.1', port: Number(REDIS_PORT) } });
const session = http2.connect(`http://127.0.0.1:${BACK2_PORT}`);

const byHttp = (id) =>
  new Promise((resolve, reject) => {
    const options = { agent, host: '127.0.0.1', port: BACK_PORT, path: '/stock/http?token=SECRET', method: 'POST' };
    const request = http.request({ ...options, headers: { 'x-id': id } }, (response) => {
      response.resume().on('end', resolve);
    });
    request.on('error', reject);
    request.write('SECRET body, first half; ');
    setImmediate(() => request.end('second half'));
  });

const byHttp2 = (id) =>
  new Promise((resolve, reject) => {
    const stream = session.request({ ':path': '/stock/http2?token=SECRET', 'x-id': id });
    stream.on('error', reject).resume().on('end', resolve);
  });

const byFetch = async (id) => {
  const address = `http://127.0.0.1:${BACK_PORT}/stock/fetch?token=SECRET#SECRET`;
  await (await fetch(address, { headers: { 'x-id': id } })).text();
};

const app = express();
app.get('/order/:what', async (request, response) => {
  const id = request.get('x-id');
  await Promise.all([
    byHttp(id),
    ioredis.set(`SECRET:front:ioredis:${id}`, 'SECRET value').then(() => byFetch(id)),
    byHttp2(id).then(() => nodeRedis.set(`SECRET:front:node-redis:${id}`, Buffer.from('SECRET value'))),
  ]);
  await ioredis.pipeline().set(`SECRET:front:pipeline:${id}`, 'é').incr('SECRET:count').exec();
  response.send('done');
});
app.get('/busy/:milliseconds', (request, response) => {
  const end = Date.now() + Number(request.params.milliseconds);
  while (Date.now() < end);
  response.send('done');
});

nodeRedis.connect().then(() => {
  const server = app.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })));
});
process.stdin.resume().on('end', () => process.exit(0));
