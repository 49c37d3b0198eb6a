// A service that asks another by pools of two connections, with each version of undici and each of its ways: most
// requests wait for a connection, and are made when the answer to somebody else's is read. Knows nothing of the agent.
import http from 'node:http';
import { createRequire } from 'node:module';
import { Writable } from 'node:stream';

const require = createRequire(import.meta.url);
const listen = (server) =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));

const back = await listen(http.createServer((request, response) => setTimeout(() => response.end('x'), 5)));
const origin = `http://127.0.0.1:${back}`;
const connections = 2;

const ways = {};
const isOld = Number(process.versions.node.split('.')[0]) < 20;
for (const version of ['undici5', 'undici6', ...(isOld ? [] : ['undici7'])]) {
  const { Agent, Pool, fetch: itsFetch, ...undici } = require(version);
  const pool = new Pool(origin, { connections });
  const dispatcher = new Agent({ connections });
  const nowhere = () => new Writable({ write: (chunk, encoding, done) => done() });
  ways[version] = {
    request: async (path) => (await pool.request({ path, method: 'GET' })).body.text(),
    stream: (path) => pool.stream({ path, method: 'GET' }, nowhere),
    fetch: async (path) => (await itsFetch(origin + path, { dispatcher })).text(),
    'fetch-of-node': async (path) => (await fetch(origin + path, { dispatcher })).text(),
  };
  if (undici.RetryAgent) {
    const retrying = new undici.RetryAgent(new Agent({ connections }));
    ways[version].retry = async (path) => (await undici.request(origin + path, { dispatcher: retrying })).body.text();
  }
  if (undici.interceptors && pool.compose) {
    const redirecting = new Pool(origin, { connections }).compose(undici.interceptors.redirect({ maxRedirections: 1 }));
    ways[version].redirect = async (path) => (await redirecting.request({ path, method: 'GET' })).body.text();
    const limited = new Agent().compose(atMost(connections));
    ways[version].interceptor = async (path) => (await itsFetch(origin + path, { dispatcher: limited })).text();
    const heard = new Pool(origin, { connections }).on('drain', () => {});
    ways[version].heard = async (path) => (await itsFetch(origin + path, { dispatcher: heard })).text();
  }
}

/** An interceptor of the application: so many requests at once, the others wait for those. */
function atMost(many) {
  const waiting = [];
  let running = 0;
  return (dispatch) => {
    const next = () => {
      if (running === many || waiting.length === 0) return;
      running++;
      dispatch(...waiting.shift());
    };
    const ended = (handler, key) => (...given) => {
      handler[key](...given);
      running--;
      next();
    };
    const ends = ['onComplete', 'onError', 'onResponseEnd', 'onResponseError'];
    const get = (handler, key) => {
      if (typeof handler[key] !== 'function') return handler[key];
      return ends.includes(key) ? ended(handler, key) : handler[key].bind(handler);
    };
    return (options, handler) => {
      waiting.push([options, new Proxy(handler, { get })]);
      next();
      return true;
    };
  };
}

const front = http.createServer(async (request, response) => {
  const [, version, way] = request.url.split('/');
  try {
    await ways[version][way](request.url);
    response.end('done');
  } catch (cause) {
    response.writeHead(500).end(String(cause));
    console.error(version, way, cause);
  }
});
const names = Object.entries(ways).flatMap(([version, own]) => Object.keys(own).map((way) => `/${version}/${way}`));
console.log(JSON.stringify({ port: await listen(front), back, names }));
process.stdin.resume().on('end', () => process.exit(0));
