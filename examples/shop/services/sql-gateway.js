// The others' way to the database.
'use strict';

const express = require('express');
const { Pool } = require('pg');

const database = new Pool({ host: '127.0.0.1', port: process.env.SQL_PORT, user: 'shop', database: 'postgres', max: 10 });
const app = express();
app.get('/user', async (request, response) => {
  const { rows } = await database.query('SELECT $1::text AS name', [request.query.user]);
  response.send(rows[0].name);
});
app.post('/order', async (request, response) => {
  const { user, item } = request.query;
  const { rows } = await database.query('INSERT INTO orders (customer, item) VALUES ($1, $2) RETURNING id', [user, item]);
  response.send(String(rows[0].id));
});
database
  .query('CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, customer text, item text)')
  .then(() => {
    const server = app.listen(process.env.SQL_GATEWAY_PORT, '127.0.0.1');
    // Longer than any customer is silent, or a connection may close while it is asked over.
    server.keepAliveTimeout = 60_000;
  });
