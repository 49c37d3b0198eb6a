// Two services as people write them, for the bench: Express, and a Redis behind each. Its customers are another process,
// which is not recorded. Prints what processor time an order took both services together, in microseconds.
'use strict';

const { spawn } = require('child_process');
const http = require('http');

const COUNT = Number(process.env.COUNT || 6000);
const TOGETHER = 20;
const agent = new http.Agent({ keepAlive: true });
const ask = (port, path) =>
  new Promise((resolve, reject) => {
    http.get({ agent, host: '127.0.0.1', port, path }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (part) => (body += part));
      response.on('end', () => resolve(body));
    }).on('error', reject);
  });

async function serve(redisPort) {
  const express = require('express');
  const Redis = require('ioredis');
  const listen = (app) =>
    new Promise((resolve) => {
      const server = app.listen(0, '127.0.0.1', () => resolve(server.address().port));
    });
  const redis = () => new (Redis.default ?? Redis)(redisPort, '127.0.0.1');

  const stock = redis();
  const back = express();
  back.get('/stock', async (request, response) => {
    response.json({ item: request.query.item, left: await stock.decr(request.query.item) });
  });
  const backPort = await listen(back);

  const users = redis();
  const front = express();
  front.get('/order', async (request, response) => {
    const user = await users.get(request.query.user);
    const { item, left } = JSON.parse(await ask(backPort, `/stock?item=${request.query.item}`));
    response.json({ user, item, left });
  });
  const frontPort = await listen(front);

  const customers = (count) =>
    new Promise((resolve) => {
      const options = { stdio: 'inherit', env: { ...process.env, NODE_OPTIONS: '' } };
      spawn(process.execPath, [__filename, 'order', frontPort, count], options).on('exit', resolve);
    });
  await customers(COUNT / 2); // until the code is compiled
  const before = process.cpuUsage();
  await customers(COUNT);
  const { user, system } = process.cpuUsage(before);
  console.log((user + system) / COUNT);
  process.exit(0);
}

async function order(port, count) {
  const customer = async () => {
    while (count-- > 0) await ask(port, `/order?user=u${count % 100}&item=tea`);
  };
  await Promise.all(Array.from({ length: TOGETHER }, customer));
  process.exit(0);
}

const [what, port, count] = process.argv.slice(2);
if (what === 'order') order(port, Number(count));
else serve(what);
