// The shop's front: takes an order of a user, who must be known. Knows nothing of tracing.
'use strict';

const express = require('express');
const { ask } = require('./ask.js');

const app = express();
app.post('/order', async (request, response) => {
  const { user, item } = request.query;
  const known = await ask('GET', 'user', '/user', { user });
  if (known.status !== 200) return response.status(404).end();
  const order = await ask('POST', 'order', '/order', { user, item });
  response.status(order.status).send(order.body);
});
const server = app.listen(process.env.GATEWAY_PORT, '127.0.0.1');
// Longer than any customer is silent, or a connection may close while it is asked over.
server.keepAliveTimeout = 60_000;
