// Runs services under the agent while a real LTTng session records, reads the events back with babeltrace2,
// and keeps the truth to hold them against: what the test client sent over which connection, and what Redis
// itself says that it was asked (MONITOR). Not an emulation of anything.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const here = path.dirname(fileURLToPath(import.meta.url));
export const preload = path.join(here, '..', 'preload.cjs');
const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
export const skip = !process.env.OWN_LTTNG
  ? 'no LTTng session daemon of our own here (run: make test)'
  : !hasRedis && 'redis-server is missing';

const lttng = (...args) => execFileSync('lttng', ['--no-sessiond', '--quiet', ...args], { stdio: 'pipe' });

/** Records the agent's events while `body` runs; {events in time order, bytes: all of the trace}. */
export async function recorded(body, { read: reads = true } = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'slowpath-node-'));
  const session = path.basename(folder);
  try {
    lttng('create', session, '--output', folder);
    lttng('enable-channel', '--userspace', '--session', session, '--subbuf-size=1M', '--num-subbuf=8', 'node');
    lttng('enable-event', '--userspace', '--session', session, '--channel=node', 'slowpath_node:*');
    lttng('add-context', '--userspace', '--session', session, '--channel=node', '-t', 'vpid', '-t', 'vtid');
    lttng('start', session);
    await body();
    lttng('stop', session);
    if (!reads) return undefined;
    const read = spawnSync('babeltrace2', ['--clock-cycles', folder], { maxBuffer: 1 << 30 });
    assert.doesNotMatch(read.stderr.toString(), /discarded/);
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const bytes = Buffer.concat(files.map((file) => readFileSync(path.join(file.parentPath ?? file.path, file.name))));
    return { events: read.stdout.toString().split('\n').filter(Boolean).map(eventOf), bytes };
  } finally {
    lttng('destroy', session);
    rmSync(folder, { recursive: true });
  }
}

function eventOf(row) {
  const event = { name: /slowpath_node:(\w+):/.exec(row)[1] };
  for (const [, field, text] of row.matchAll(/(\w+) = ("[^"]*"|-?\d+)/g)) {
    event[field] = text.startsWith('"') ? text.slice(1, -1) : Number(text);
  }
  return event;
}

/** A service as a child process, which prints one line of JSON when it listens. */
export async function service(file, env = {}, { agent = preload } = {}) {
  const child = spawn(process.execPath, [path.join(here, file)], {
    cwd: here,
    env: { ...process.env, ...(agent && { NODE_OPTIONS: `--require ${JSON.stringify(agent)}` }), ...env },
  });
  let talk = '';
  child.stderr.on('data', (data) => (talk += data));
  const closed = new Promise((resolve) => child.on('close', resolve));
  const line = await new Promise((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (data) => (output += data).includes('\n') && resolve(output));
    closed.then(() => reject(new Error(`the service ended: ${talk}`)));
  });
  return {
    ...JSON.parse(line),
    pid: child.pid,
    /** Ends it; what it said on stderr. */
    async stop() {
      child.stdin.end();
      assert.equal(await closed, 0);
      return talk;
    },
  };
}

/** A redis-server of our own, and a connection to it. */
export async function quietRedisServer() {
  const port = await freePort();
  const options = ['--port', port, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', tmpdir()];
  const child = spawn('redis-server', options.map(String), { stdio: 'ignore' });
  const closed = new Promise((resolve) => child.on('close', resolve));
  const connection = await connected(port);
  return {
    port,
    connection,
    async stop() {
      connection.destroy();
      child.kill();
      await closed;
    },
  };
}

/** The same, and `asked`: {from: port of the client, words} of every command, as it says. */
export async function redisServer() {
  const { port, connection: monitor, stop } = await quietRedisServer();
  const asked = [];
  let rest = '';
  monitor.on('data', (data) => {
    const lines = (rest + data.toString('latin1')).split('\r\n');
    rest = lines.pop();
    for (const line of lines) {
      const from = /^\+[\d.]+ \[\d+ [^\]]*:(\d+)\] (.*)$/.exec(line);
      if (from) asked.push({ from: Number(from[1]), words: from[2].match(/"(?:[^"\\]|\\.)*"/g).map((w) => w.slice(1, -1)) });
    }
  });
  monitor.write('MONITOR\r\n');
  return { port, asked, stop };
}

async function freePort() {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function connected(port) {
  for (let attempt = 0; attempt < 200; attempt++) {
    const socket = net.connect(port, '127.0.0.1');
    const isOpen = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    if (isOpen) return socket;
    await pause(20);
  }
  throw new Error('redis-server does not listen after 4 s');
}

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A client of its own keep-alive connections. `sent`: {"port of ours:order on it": the id that was sent}. */
export function client(port, together) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: together });
  const sent = new Map();
  const orders = new Map();
  let lastId = 0;
  const ask = (target = '/order/tea?token=SECRET') =>
    new Promise((resolve, reject) => {
      const id = String(++lastId);
      const headers = { 'x-id': id, authorization: 'SECRET' };
      const request = http.get({ agent, host: '127.0.0.1', port, path: target, headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
      });
      request.on('error', reject);
      request.on('socket', (socket) => {
        const isOurs = () => {
          const order = (orders.get(socket.localPort) ?? 0) + 1;
          orders.set(socket.localPort, order);
          sent.set(`${socket.localPort}:${order}`, id);
        };
        if (socket.connecting) socket.once('connect', isOurs);
        else isOurs();
      });
    });
  return {
    sent,
    ask,
    async load(count) {
      let left = count;
      const one = async () => {
        while (left-- > 0) assert.equal(await ask(), 200);
      };
      await Promise.all(Array.from({ length: together }, one));
    },
    close: () => agent.destroy(),
  };
}
