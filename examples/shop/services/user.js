// Knows users: from the cache, else from the database, which fills the cache.
'use strict';

const express = require('express');
const { ask } = require('./ask.js');

const app = express();
app.get('/user', async (request, response) => {
  const { user } = request.query;
  const key = `user:${user}`;
  const cached = await ask('GET', 'redis-gateway', '/cache', { key });
  if (cached.status === 200) return response.send(cached.body);
  const stored = await ask('GET', 'sql-gateway', '/user', { user });
  if (stored.status === 200) await ask('PUT', 'redis-gateway', '/cache', { key, value: stored.body });
  response.status(stored.status).send(stored.body);
});
const server = app.listen(process.env.USER_PORT, '127.0.0.1');
// Longer than any customer is silent, or a connection may close while it is asked over.
server.keepAliveTimeout = 60_000;
