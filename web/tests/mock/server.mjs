// A server with the interface of `slowpath serve` over the made-up recording, for development and for the
// browser tests: the same paths, shapes and security policy, and the built application from dist/.
// Usage: node tests/mock/server.mjs [--port 7601] [--slow] [--exploration]; --slow: analyses take a few seconds at first;
// --exploration: nothing but the made-up exploration has been opened.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Refused } from './analyses.mjs';
import { answerOf } from './answers.mjs';
import { recordingOfExploration } from './exploration.mjs';

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url));
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};
const WORKED_OUT =
  /^\/api\/(threads|cpus|screen|quiet|findings|requests|operations|services|store|transfers|io|paths|compare)/;
const SLOW = 2500;

/** With `exploration`, nothing but that has been opened. */
export function startMock({ port = 0, slow = false, exploration = false } = {}) {
  // A slow one is halfway until it is released.
  let halfway = slow;
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    response.setHeader('content-security-policy', "default-src 'self'");
    response.setHeader('x-content-type-options', 'nosniff');
    if (!url.pathname.startsWith('/api/')) return serveFile(url.pathname, response);
    const done = halfway ? 0.5 : 1;
    if (url.pathname === '/api/progress') return json(response, 200, progress(done));
    if (done < 1 && WORKED_OUT.test(url.pathname)) {
      return json(response, 202, {
        job: url.pathname.split('/')[2] === 'findings' ? 'findings' : 'requests',
        done,
      });
    }
    try {
      const body = request.method === 'POST' ? JSON.parse(await textOf(request)) : null;
      const told = answerOf(url.pathname, url.searchParams, body);
      const isAlone = exploration && url.pathname === '/api/recording';
      const answer = isAlone ? recordingOfExploration(told) : told;
      if (answer instanceof Buffer) {
        response.setHeader('content-type', 'application/octet-stream');
        response.end(answer);
      } else json(response, 200, answer);
    } catch (failure) {
      const { status, message } = /** @type {Refused} */ (failure);
      json(response, status ?? 500, refusal(message));
    }
  });
  return new Promise((resolve) => {
    server.listen(port, '127.0.0.1', () => {
      resolve({
        address: `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`,
        release: () => {
          halfway = false;
        },
        close: () => server.close(),
      });
    });
  });
}

/** @returns {import('../../src/model/interface').Refusal} */
const refusal = (title) => ({ title, detail: 'this is the mock' });

/** @returns {import('../../src/model/interface').Progress} */
function progress(done) {
  const jobs = ['count', 'cpu', 'io', 'latency', 'history', 'requests', 'operations', 'findings', 'services'];
  return {
    jobs: jobs.map((id, index) => ({
      id,
      state: done >= 1 || index < 4 ? 'done' : index < 6 ? 'running' : 'waiting',
      done: done >= 1 || index < 4 ? 1 : index < 6 ? done : 0,
      message: null,
      wanted: true,
    })),
    done: done >= 1,
  };
}

async function serveFile(path, response) {
  const name = normalize(path === '/' ? '/index.html' : path);
  try {
    const bytes = await readFile(join(DIST, name));
    response.setHeader('content-type', TYPES[extname(name)] ?? 'application/octet-stream');
    response.end(bytes);
  } catch {
    response.statusCode = 404;
    response.end('not found');
  }
}

function json(response, status, value) {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(value));
}

async function textOf(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const at = process.argv.indexOf('--port');
  const { address, release } = await startMock({
    port: at > 0 ? Number(process.argv[at + 1]) : 7601,
    slow: process.argv.includes('--slow'),
    exploration: process.argv.includes('--exploration'),
  });
  setTimeout(release, SLOW);
  console.log(address);
}
