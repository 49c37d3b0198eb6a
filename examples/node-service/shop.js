// A shop on one Node thread: orders take a moment of waiting and a line in a ledger; every 25th request
// wants a report, which sorts for a fifth of a second and lets everybody else wait meanwhile. Knows
// nothing of tracing.   shop.js serve ORDERS LEDGER | shop.js order ORDERS
// At its end it says how many it served, and for each report when it sorted (nanoseconds since the epoch).
'use strict';

const { appendFile } = require('node:fs/promises');
const http = require('node:http');

const port = Number(process.env.PORT ?? 18280);
const [what, count, ledger] = process.argv.slice(2);
const orders = Number(count);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const sortedFrom = [];
const now = () => Math.round((performance.timeOrigin + performance.now()) * 1000) + '000';

function report() {
  const from = now();
  const begin = Date.now();
  let sorted = 0;
  while (Date.now() - begin < 200) {
    sorted += Array.from({ length: 20000 }, (_, i) => (i * 7919) % 20011).sort((a, b) => a - b).length;
  }
  sortedFrom.push(`${from} ${now()}`);
  return `sorted ${sorted}\n`;
}

async function order(number) {
  await sleep(3); // the payment
  await appendFile(ledger, `order ${number}\n`);
  return 'done\n';
}

function serve() {
  let served = 0;
  const server = http.createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://shop');
    response.end(pathname === '/report' ? report() : await order(searchParams.get('number')));
    if (++served === orders) server.close(() => console.log([served, ...sortedFrom].join('\n')));
  });
  server.listen(port, '127.0.0.1');
}

function get(path) {
  return new Promise((resolve, reject) => {
    http.get({ port, host: '127.0.0.1', path, agent: false }, (answer) => answer.resume().on('end', resolve)).on('error', reject);
  });
}

async function customers() {
  let next = 0;
  const customer = async () => {
    while (next < orders) {
      const number = next++;
      const path = number % 25 === 24 ? '/report' : `/order?number=${number}`;
      for (let tries = 0; ; tries++) {
        try {
          await get(path);
          break;
        } catch (cause) {
          // The shop may not have opened yet.
          if (cause.code !== 'ECONNREFUSED' || tries === 300) throw cause;
          await sleep(100);
        }
      }
    }
  };
  await Promise.all(Array.from({ length: 6 }, customer));
}

if (what === 'serve') serve();
else customers();
