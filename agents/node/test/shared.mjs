// A service whose requests share what one of them has opened, or that keeps their work until somebody else's is done: a
// channel of gRPC, a pool of node-redis, clients of databases that take callbacks. Knows nothing of the agent.
import http from 'node:http';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { createClientPool } = require('@redis/client');
const { Client, Server, ServerCredentials, credentials } = require('@grpc/grpc-js');
const PgPool = require('./pg-pool');
const SharedClient = require('./shared-client.cjs');

const listen = (server) =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));
const back = await listen(http.createServer((request, response) => setTimeout(() => response.end('x'), 5)));
const ask = (path) => new Promise((done) => http.get({ port: back, path }, (response) => response.resume().on('end', done)));

const grpc = new Server();
const called = await new Promise((bound, failed) =>
  grpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (cause, port) => (cause ? failed(cause) : bound(port))),
);
const channel = new Client(`127.0.0.1:${called}`, credentials.createInsecure());
const same = (bytes) => bytes;
const pool = createClientPool({ url: `redis://127.0.0.1:${process.env.REDIS_PORT}` }, { minimum: 1, maximum: 2 });
await pool.connect();
const [known, unknown] = [new PgPool(), new SharedClient()];

const ways = {
  // The server knows no such method, and says so.
  grpc: (path) => new Promise((done) => channel.makeUnaryRequest(path, same, same, Buffer.alloc(0), () => done())),
  redis: (path) => pool.incr(path),
  callbacks: (path) => new Promise((done) => known.query('', () => ask(path).then(done))),
  unknown: (path) => new Promise((done) => unknown.query('', () => ask(path).then(done))),
};
const front = http.createServer(async (request, response) => {
  await ways[request.url.split('/')[1]](request.url);
  response.end('done');
});
console.log(JSON.stringify({ port: await listen(front), ways: Object.keys(ways) }));
process.stdin.resume().on('end', () => process.exit(0));
