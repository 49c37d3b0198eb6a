// Customers: so many orders, so many at a time, over connections that are kept. Writes down which order went over
// which connection as which, and what Redis itself says that it was asked (MONITOR): check.py holds the recording
// against both. Not recorded.
import http from 'node:http';
import net from 'node:net';
import { writeFileSync } from 'node:fs';

const [orders, together, file] = process.argv.slice(2);
const { GATEWAY_PORT, REDIS_PORT } = process.env;
const agent = new http.Agent({ keepAlive: true, maxSockets: Number(together) });
const sent = {};
const counts = new Map();
const executed = [];

const monitor = net.connect(REDIS_PORT, '127.0.0.1');
let rest = '';
monitor.setEncoding('latin1').on('data', (text) => {
  const lines = (rest + text).split('\r\n');
  rest = lines.pop();
  for (const line of lines) {
    const found = /^\+(\d+)\.(\d+) \[\d+ [^\]]*:(\d+)\] "(\w+)"(?: "([^"]*)")?/.exec(line);
    if (found) {
      const [, seconds, micros, port, name, key = ''] = found;
      executed.push({ at_us: Number(seconds + micros), port: Number(port), name: name.toLowerCase(), key });
    }
  }
});
monitor.write('MONITOR\r\n');

const order = (id) =>
  new Promise((resolve, reject) => {
    const path = `/order?user=u${id}&item=tea`;
    const request = http.request({ agent, host: '127.0.0.1', port: GATEWAY_PORT, path, method: 'POST' }, (response) => {
      response.resume().on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(response.statusCode))));
    });
    request.on('error', reject);
    request.on('socket', (socket) => {
      const isOurs = () => {
        const number = (counts.get(socket.localPort) ?? 0) + 1;
        counts.set(socket.localPort, number);
        sent[`${socket.localPort}:${number}`] = `u${id}`;
      };
      if (socket.connecting) socket.once('connect', isOurs);
      else isOurs();
    });
    request.end();
  });

let next = 0;
const customer = async () => {
  while (next < Number(orders)) await order(next++);
};
await Promise.all(Array.from({ length: Number(together) }, customer));
await new Promise((resolve) => setTimeout(resolve, 200));
writeFileSync(file, JSON.stringify({ sent, executed }));
process.exit(0);
