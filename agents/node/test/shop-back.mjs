// The service behind, an ES module: the same question over HTTP/1.1 and HTTP/2, answered after a Redis
// command of each client. Knows nothing of the agent.
import http from 'node:http';
import { createServer } from 'node:http2';
import { createClient } from '@redis/client';
import Redis from 'ioredis';

const port = Number(process.env.REDIS_PORT);
const nodeRedis = await createClient({ socket: { host: '127.0.0.1', port } }).connect();
const ioredis = new Redis(port, '127.0.0.1', { enableAutoPipelining: true });

const answer = async (request, response) => {
  const way = request.url.split(/[/?]/)[2];
  const id = request.headers['x-id'];
  for await (const part of request) void part;
  await Promise.all([
    nodeRedis.set(`SECRET:back-${way}:node-redis:${id}`, 'SECRET value'),
    ioredis.set(`SECRET:back-${way}:ioredis:${id}`, 'SECRET value'),
  ]);
  response.end('SECRET answer');
};

const first = http.createServer(answer).listen(0, '127.0.0.1', () => {
  const second = createServer(answer).listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ port: first.address().port, port2: second.address().port }));
  });
});
process.stdin.resume().on('end', () => process.exit(0));
