// The agent in real services over a real Redis, under a real LTTng session. Each Redis command that was asked
// with an id is followed back over two services to the request of the test client that carried the id,
// by addresses, ports and order alone; the ids are in no event.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { client, here, pause, preload, recorded, redisServer, service, skip } from './support.mjs';

async function shop(body, options) {
  const redis = await redisServer();
  const back = await service('shop-back.mjs', { REDIS_PORT: redis.port }, options);
  const environment = { REDIS_PORT: redis.port, BACK_PORT: back.port, BACK2_PORT: back.port2 };
  const front = await service('shop-front.cjs', environment, options);
  const user = client(front.port, 50);
  let talk = '';
  try {
    await body({ redis, back, front, user });
  } finally {
    user.close();
    talk = (await front.stop()) + (await back.stop());
    await redis.stop();
  }
  return { redis, back, front, user, talk };
}

const named = (events, name) => events.filter((event) => event.name === name);
const keyed = (events, key) => {
  const all = new Map(events.map((event) => [key(event), event]));
  assert.equal(all.size, events.length, 'two events with the same key');
  return all;
};
const work = ({ vpid, context }) => `${vpid} ${context}`;
const wire = (from, to, number) => `${from} ${to} ${number}`;
const sentOver = (e) => wire(`${e.local_address}:${e.local_port}`, `${e.remote_address}:${e.remote_port}`, e.number);
const receivedOver = (e) => wire(`${e.remote_address}:${e.remote_port}`, `${e.local_address}:${e.local_port}`, e.number);

test('50 at a time over keep-alive: every command belongs to the request that caused it', { skip }, async () => {
  const COUNT = 600;
  const WAYS = ['http', 'fetch', 'http2'];
  let truth;
  const { events, bytes } = await recorded(async () => (truth = await shop(({ user }) => user.load(COUNT))));
  assert.equal(truth.talk, '');

  const received = named(events, 'http_server_receive');
  const requested = named(events, 'http_client_request');
  assert.equal(received.length, COUNT * (1 + WAYS.length));
  assert.equal(requested.length, COUNT * WAYS.length);
  for (const [answers, questions, status] of [
    [named(events, 'http_server_response'), received, 200],
    [named(events, 'http_client_response'), requested, 200],
  ]) {
    const byContext = keyed(questions, work);
    assert.equal(answers.length, questions.length);
    for (const answer of answers) {
      const question = byContext.get(work(answer));
      for (const field of ['connection', 'number', 'cause']) assert.equal(answer[field], question[field]);
      assert.equal(answer.status, status);
    }
  }

  const requestOverWire = keyed(requested, sentOver);
  const receivedInContext = keyed(received, work);
  const { front, back } = truth;
  /** The id that the test client sent with the request that an event was caused by, and over which ways. */
  const origin = (event) => {
    const serving = receivedInContext.get(`${event.vpid} ${event.cause}`);
    assert.ok(serving, `nobody served while ${event.name} of context ${event.context} was made`);
    if (serving.vpid === front.pid) {
      assert.equal(serving.path, '/order/tea');
      return { id: truth.user.sent.get(`${serving.remote_port}:${serving.number}`), where: 'front' };
    }
    assert.equal(serving.vpid, back.pid);
    const request = requestOverWire.get(receivedOver(serving));
    assert.ok(request, 'a request that nobody sent');
    assert.equal(request.path, serving.path);
    assert.equal(request.method, serving.method);
    assert.equal(request.version, serving.path === '/stock/http2' ? 20 : 11);
    return { id: origin(request).id, where: serving.path.replace('/stock/', 'back-') };
  };

  const commands = named(events, 'redis_command');
  const ports = new Set(commands.map((command) => command.local_port));
  let checked = 0;
  for (const port of ports) {
    const told = commands.filter((command) => command.local_port === port).sort((a, b) => a.number - b.number);
    told.forEach((command, i) => assert.equal(command.number, i + 1));
    let offset = 0;
    for (const command of told) {
      assert.equal(command.offset, offset);
      offset += command.bytes;
    }
    const kept = told.filter(({ command }) => command === 'set');
    const asked = truth.redis.asked.filter(({ from, words }) => from === port && words[0].toLowerCase() === 'set');
    assert.equal(kept.length, asked.length);
    kept.forEach((command, i) => {
      const [, where, , id] = asked[i].words[1].split(':');
      assert.deepEqual(origin(command), { id, where });
      assert.equal(command.arguments, 2);
      checked++;
    });
  }
  assert.equal(checked, COUNT * (3 + 2 * WAYS.length));
  assert.equal(named(events, 'redis_command').filter(({ command }) => command === 'incr').length, COUNT);

  for (const secret of ['SECRET', 'token', 'authorization', 'x-id', 'second half']) {
    assert.equal(bytes.includes(secret), false, `${secret} was recorded`);
  }
});

test('a recording that begins and ends in the middle tells by bytes which request is which', { skip }, async () => {
  let first, second;
  const { talk } = await shop(async ({ user, front, back }) => {
    const recording = () =>
      recorded(async () => {
        await pause(600); // both services have noticed
        await user.load(100);
      });
    await user.load(100);
    first = await recording();
    await pause(600);
    await user.load(100);
    second = await recording();
    for (const { events } of [first, second]) {
      const over1 = (name, pid) => named(events, name).filter(({ vpid, version }) => vpid === pid && version === 11);
      const received = over1('http_server_receive', back.pid);
      const sent = over1('http_client_request', front.pid);
      assert.equal(received.length, 200);
      assert.equal(sent.length, 200);
      assert.ok(received.some(({ number }) => number === 0));
      for (const event of received) {
        const ours = sent.filter((request) => request.local_port === event.remote_port);
        const matching = ours.filter((request, i) => {
          const next = ours[i + 1]?.sent ?? Infinity;
          return event.received > request.sent && event.received <= next;
        });
        assert.equal(matching.length, 1);
        assert.equal(matching[0].path, event.path);
        assert.equal(matching[0].number, event.number);
      }
    }
  });
  assert.equal(talk, '');
});

test('requests that wait in a pool of undici belong to who asked, not to whose answer made room', { skip }, async () => {
  const EACH = 40;
  let pools;
  const { events } = await recorded(async () => {
    pools = await service('pools.mjs');
    const user = client(pools.port, EACH);
    await pause(600); // it has noticed
    for (const name of pools.names) {
      const asked = Array.from({ length: EACH }, (_, i) => user.ask(`${name}/${i}`));
      assert.deepEqual(new Set(await Promise.all(asked)), new Set([200]), name);
    }
    user.close();
    assert.equal(await pools.stop(), '');
  });
  const served = named(events, 'http_server_receive').filter(({ local_port }) => local_port === pools.port);
  const pathOfContext = new Map(served.map(({ context, path }) => [context, path]));
  for (const name of pools.names) {
    const made = named(events, 'http_client_request').filter(({ path }) => path.startsWith(`${name}/`));
    assert.equal(made.length, EACH, name);
    const ofOthers = made.filter(({ cause, path }) => pathOfContext.get(cause) !== path);
    assert.equal(ofOthers.length, 0, `${name}: ${ofOthers.length} of ${EACH}`);
  }
});

test('what requests share is for whom it was asked, not for who opened it or was done', { skip }, async () => {
  const EACH = 40;
  let served, redis;
  const { events } = await recorded(async () => {
    redis = await redisServer();
    served = await service('shared.mjs', { REDIS_PORT: redis.port });
    const user = client(served.port, EACH);
    await pause(600); // it has noticed
    for (const way of served.ways) {
      const asked = Array.from({ length: EACH }, (_, i) => user.ask(`/${way}/${i}`));
      assert.deepEqual(new Set(await Promise.all(asked)), new Set([200]), way);
    }
    user.close();
    assert.equal(await served.stop(), '');
    await redis.stop();
  });
  const received = named(events, 'http_server_receive').filter(({ local_port }) => local_port === served.port);
  const pathOfContext = new Map(received.map(({ context, path }) => [context, path]));
  const made = named(events, 'http_client_request').map(({ cause, path }) => ({ cause, path }));
  // Which key a command had, only Redis says; the commands of a connection have an order.
  const ofPort = new Map();
  for (const { from, words } of redis.asked.filter(({ words }) => words[0] === 'INCR')) {
    ofPort.set(from, [...(ofPort.get(from) ?? []), words[1]]);
  }
  for (const { cause, local_port } of named(events, 'redis_command').filter(({ command }) => command === 'incr')) {
    made.push({ cause, path: ofPort.get(local_port).shift() });
  }
  for (const way of served.ways) {
    const its = made.filter(({ path }) => path.startsWith(`/${way}/`));
    assert.equal(its.length, EACH, way);
    // Of a client that the agent does not know, it is not known for whom; but it is for nobody else.
    const wrong = its.filter(({ cause, path }) => (way === 'unknown' ? cause !== 0 : pathOfContext.get(cause) !== path));
    assert.equal(wrong.length, 0, `${way}: ${wrong.length} of ${EACH}`);
  }
});

test('what is sent over HTTP/2 is read for the request that it belongs to', { skip }, async () => {
  const EACH = 40;
  let served, redis;
  const { events } = await recorded(async () => {
    redis = await redisServer();
    served = await service('bodies.mjs', { REDIS_PORT: redis.port });
    const user = client(served.port, EACH);
    await pause(600); // it has noticed
    for (const way of served.ways) {
      await Promise.all(Array.from({ length: EACH }, (_, i) => user.ask(`/${way}/${i}`)));
    }
    user.close();
    assert.equal(await served.stop(), '');
    await redis.stop();
  });
  const received = new Map(named(events, 'http_server_receive').map((event) => [event.context, event]));
  const made = new Map();
  for (const event of named(events, 'http_client_request')) {
    made.set(`${event.local_port}:${event.remote_port}:${event.number}`, event);
  }
  // The commands of the one connection have an order.
  const keys = redis.asked.filter(({ words }) => words[0].toLowerCase() === 'incr').map(({ words }) => words[1]);
  const commands = named(events, 'redis_command').filter(({ command }) => command === 'incr');
  assert.equal(keys.length, served.ways.length * EACH);
  assert.equal(commands.length, keys.length);
  // From the command to the request, whose sender is the front's request that has the key as its path.
  const pathBehind = ({ cause }) => {
    const its = received.get(cause);
    const sent = its && made.get(`${its.remote_port}:${its.local_port}:${its.number}`);
    return sent && received.get(sent.cause)?.path;
  };
  const wrong = keys.filter((key, i) => pathBehind(commands[i]) !== key);
  assert.deepEqual(wrong, []);
});

test('TLS, threads, and requests that are given up', { skip }, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'slowpath-node-'));
  const [KEY, CERTIFICATE] = ['key', 'certificate'].map((name) => path.join(folder, name));
  try {
    const own = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=localhost'];
    execFileSync('openssl', ['req', ...own, '-keyout', KEY, '-out', CERTIFICATE], { stdio: 'pipe' });
    let answered;
    const { events } = await recorded(() => {
      const env = { ...process.env, KEY, CERTIFICATE };
      const options = ['--require', preload, path.join(here, 'tls.cjs')];
      ({ answered } = JSON.parse(execFileSync(process.execPath, options, { env })));
    });
    assert.equal(answered, 100);
    const sent = keyed(named(events, 'http_client_request'), sentOver);
    const received = keyed(named(events, 'http_server_receive'), receivedOver);
    assert.equal(received.size, 100);
    for (const [over, { path, version, connection, vtid }] of received) {
      const request = sent.get(over);
      assert.equal(request?.path, path);
      assert.equal(request.version, version);
      assert.notEqual(request.connection, connection);
      assert.notEqual(request.vtid, vtid);
      assert.ok(request.fd >= 0);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('thousands of connections at a time, and requests that wait for answers on one', { skip }, async () => {
  let port;
  const { events } = await recorded(() => {
    ({ port } = JSON.parse(execFileSync(process.execPath, ['--require', preload, path.join(here, 'pipelined.cjs')])));
  });
  const received = named(events, 'http_server_receive');
  const sent = keyed(named(events, 'http_client_request'), sentOver);
  assert.equal(sent.size, 3 * 1200);
  assert.equal(received.length, 3 * 1200 + 5);
  const answers = keyed(named(events, 'http_server_response'), work);
  assert.equal(answers.size, received.length);
  for (const [over, question] of keyed(received, receivedOver)) {
    const { path, connection, number } = question;
    assert.equal(question.local_port, port);
    const answer = answers.get(work(question));
    const same = ['connection', 'number', 'fd', 'local_address', 'local_port', 'remote_address', 'remote_port'];
    for (const field of same) assert.equal(answer[field], question[field], field);
    const pipelined = /^\/pipelined\/(\d)/.exec(path);
    assert.equal(answer.status, 200 + Number(pipelined?.[1] ?? 0));
    if (pipelined) assert.equal(number, 1 + Number(pipelined[1]));
    else assert.equal(sent.get(over).path, path);
    assert.ok(connection > 0);
  }
  const connections = new Map();
  for (const event of [...received, ...sent.values()]) {
    const ends = `${event.local_port} ${event.remote_port} ${event.fd}`;
    assert.equal(connections.get(event.connection) ?? ends, ends);
    connections.set(event.connection, ends);
  }
  assert.equal(connections.size, 2 * 1200 + 1);
});

test('nothing listens while nobody records', { skip }, async () => {
  const script = "console.log(require('diagnostics_channel').hasSubscribers('http.server.request.start'))";
  const listens = () => execFileSync(process.execPath, ['--require', preload, '--eval', script]).toString().trim();
  assert.equal(listens(), 'false');
  await recorded(() => assert.equal(listens(), 'true'), { read: false });
});

test('of a target only the path is told', () => {
  const { pathOf } = createRequire(import.meta.url)('../lib/paths.cjs');
  for (const [target, told] of [
    ['/order/tea?token=SECRET', '/order/tea'],
    ['/?SECRET', '/'],
    ['/a#SECRET', '/a'],
    ['http://user:SECRET@host:80/a/b?SECRET', '/a/b'],
    ['http://user:SECRET@host', '/'],
    ['http://host?SECRET', ''],
    ['SECRET.host:443', ''],
    ['/a;jsessionid=SECRET/b;c=SECRET?d', '/a/b'],
    ['//user:SECRET@host/a', '//host/a'],
    ['/to/http://user:SEC:RET@host/a?b', '/to/http://host/a'],
    ['/packages//@scope/name', '/packages//@scope/name'],
    ['*', ''],
    [undefined, ''],
  ]) {
    assert.equal(pathOf(target), told);
  }
});

test('only names of commands are told', () => {
  const { nameOf } = createRequire(import.meta.url)('../lib/redis-commands.cjs');
  for (const [word, told] of [
    ['GET', 'get'],
    [Buffer.from('Json.Set'), 'json.set'],
    ['restore-asking', 'restore-asking'],
    ['secretkey', ''],
    ['b840fc02d524045429941cc15f59e41cb7be6c52', ''],
    ['ft.', ''],
    [undefined, ''],
  ]) {
    assert.equal(nameOf(word), told);
  }
});

test('a busy event loop shows', { skip }, async () => {
  const { events } = await recorded(() => shop(({ user }) => user.ask('/busy/250')));
  const delays = named(events, 'event_loop_delay');
  assert.ok(delays.some(({ delay_ns, active_ns }) => delay_ns > 200e6 && active_ns > 200e6));
  for (const { asked_ns } of delays) assert.equal(asked_ns, 20e6);
});

test('without the add-on the services are served, after one line on stderr', { skip }, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'slowpath-node-'));
  try {
    cpSync(preload, path.join(folder, 'preload.cjs'));
    cpSync(path.join(here, '..', 'lib'), path.join(folder, 'lib'), { recursive: true });
    const { talk } = await shop(({ user }) => user.load(50), { agent: path.join(folder, 'preload.cjs') });
    const line = `slowpath: requests of Node are not recorded: ${folder}/build/slowpath_node.node is missing (hint: make -C agents/node)\n`;
    assert.equal(talk, line + line);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
