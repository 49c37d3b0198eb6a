// A service that reads what it is sent over HTTP/2 by events, by each of Node's ways and gRPC, and asks Redis when it
// has it. What it is to ask, its own front sends it. Knows nothing of the agent.
import http from 'node:http';
import { connect, createServer } from 'node:http2';
import { createRequire } from 'node:module';
import Redis from 'ioredis';

const require = createRequire(import.meta.url);
const { Client, Server, ServerCredentials, credentials } = require('@grpc/grpc-js');

const redis = new Redis(Number(process.env.REDIS_PORT), '127.0.0.1');
const listen = (server) =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));
const whole = (stream, done) => {
  let body = '';
  stream.on('data', (part) => (body += part)).on('end', () => done(body));
};

const requests = createServer((request, response) => whole(request, (key) => redis.incr(key, () => response.end('x'))));
const streams = createServer().on('stream', (stream) => {
  whole(stream, (key) => redis.incr(key, () => stream.respond() || stream.end('x')));
});
const sessions = {};
for (const [way, server] of Object.entries({ requests, streams })) {
  sessions[way] = connect(`http://127.0.0.1:${await listen(server)}`);
}
/** In two parts, the second of which comes when the request has long been told of. */
const send = (way) => (key) =>
  new Promise((done) => {
    const stream = sessions[way].request({ ':method': 'POST', ':path': `/${way}` });
    stream.resume().on('end', done).write(key.slice(0, 3));
    setTimeout(() => stream.end(key.slice(3)), 5);
  });

const same = (bytes) => bytes;
const method = { requestDeserialize: same, requestSerialize: same, responseDeserialize: same, responseSerialize: same };
const grpc = new Server();
const path = '/tea.Shop/Order';
grpc.addService(
  { order: { ...method, path, requestStream: false, responseStream: false } },
  { order: (call, done) => redis.incr(call.request.toString(), () => done(null, Buffer.alloc(0))) },
);
const bound = await new Promise((ok, failed) =>
  grpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (cause, port) => (cause ? failed(cause) : ok(port))),
);
const channel = new Client(`127.0.0.1:${bound}`, credentials.createInsecure());

const ways = {
  requests: send('requests'),
  streams: send('streams'),
  grpc: (key) => new Promise((done) => channel.makeUnaryRequest(path, same, same, Buffer.from(key), () => done())),
};
const front = http.createServer(async (request, response) => {
  await ways[request.url.split('/')[1]](request.url);
  response.end('done');
});
console.log(JSON.stringify({ port: await listen(front), ways: Object.keys(ways) }));
process.stdin.resume().on('end', () => process.exit(0));
