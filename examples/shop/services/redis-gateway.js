// The others' way to Redis: one connection for all.
'use strict';

const express = require('express');
const Redis = require('ioredis');

const redis = new Redis(process.env.REDIS_PORT, '127.0.0.1');
const app = express();
app.get('/cache', async (request, response) => {
  const value = await redis.get(request.query.key);
  if (value === null) return response.status(404).end();
  response.send(value);
});
app.put('/cache', async (request, response) => {
  const { key, value } = request.query;
  await redis.pipeline().set(key, value).expire(key, 60).exec();
  response.end();
});
app.post('/count', async (request, response) => {
  response.send(String(await redis.incr(request.query.key)));
});
app.post('/publish', async (request, response) => {
  const { channel, message } = request.query;
  response.send(String(await redis.publish(channel, message)));
});
const server = app.listen(process.env.REDIS_GATEWAY_PORT, '127.0.0.1');
// Longer than any customer is silent, or a connection may close while it is asked over.
server.keepAliveTimeout = 60_000;
