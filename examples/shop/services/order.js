// Keeps orders, and tells whoever packs them.
'use strict';

const express = require('express');
const { ask } = require('./ask.js');

const app = express();
app.post('/order', async (request, response) => {
  const { user, item } = request.query;
  const [stored] = await Promise.all([
    ask('POST', 'sql-gateway', '/order', { user, item }),
    ask('POST', 'redis-gateway', '/count', { key: `orders:${user}` }),
  ]);
  await ask('POST', 'redis-gateway', '/publish', { channel: `packing:${user}`, message: stored.body });
  response.status(stored.status).send(stored.body);
});
const server = app.listen(process.env.ORDER_PORT, '127.0.0.1');
// Longer than any customer is silent, or a connection may close while it is asked over.
server.keepAliveTimeout = 60_000;
