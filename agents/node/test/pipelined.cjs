// Two things that the agent must keep apart: more connections open at a time than its table has places for, and requests
// of one connection of which several wait for their answers (pipelining), the first of them longest. Prints the port and
// how many were answered of each. Knows nothing of the agent.
'use strict';

const http = require('http');
const net = require('net');

const CONNECTIONS = 1200;
const ROUNDS = 3;
const PIPELINED = 5;

const server = http.createServer((request, response) => {
  const wait = /^\/pipelined\/(\d)/.exec(request.url);
  response.statusCode = wait ? 200 + Number(wait[1]) : 200;
  if (wait) setTimeout(() => response.end('x'), 10 * (PIPELINED - wait[1]));
  else response.end('x');
});
server.listen(0, '127.0.0.1', 4096, async () => {
  const { port } = server.address();
  const agent = new http.Agent({ keepAlive: true, maxFreeSockets: CONNECTIONS });
  const ask = (path) =>
    new Promise((resolve, reject) => {
      http.get({ agent, host: '127.0.0.1', port, path }, (response) => response.resume().on('end', resolve)).on('error', reject);
    });
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => ask(`/kept/${round}/${i}`)));
  }
  const socket = net.connect(port, '127.0.0.1');
  const heads = Array.from({ length: PIPELINED }, (_, i) => `GET /pipelined/${i} HTTP/1.1\r\nhost: x\r\n\r\n`);
  socket.write(heads.join(''));
  let answers = '';
  socket.setEncoding('latin1').on('data', (text) => {
    answers += text;
    const count = answers.split('HTTP/1.1 ').length - 1;
    // The last one's event comes after its bytes were written.
    if (count === PIPELINED) setTimeout(() => (console.log(JSON.stringify({ port })), process.exit(0)), 50);
  });
});
