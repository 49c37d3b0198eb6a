// A service for the bench: answers each request after one request to a service behind, over keep-alive, which
// answers at once; both in this process. Prints what processor time a request took, in microseconds.
'use strict';

const http = require('http');

const COUNT = Number(process.env.COUNT || 6000);
const TOGETHER = 20;
const agent = new http.Agent({ keepAlive: true });
const answerOf = ({ port }, path) =>
  new Promise((resolve, reject) => {
    http.get({ agent, host: '127.0.0.1', port, path }, (response) => response.resume().on('end', resolve)).on('error', reject);
  });

const back = http.createServer((request, response) => response.end('done')).listen(0, '127.0.0.1', () => {
  const backAddress = back.address();
  const front = http.createServer(async (request, response) => {
    await answerOf(backAddress, '/back');
    response.end('done');
  });
  front.listen(0, '127.0.0.1', async () => {
    const frontAddress = front.address();
    const load = async (count) => {
      const one = async () => {
        while (count-- > 0) await answerOf(frontAddress, '/front');
      };
      await Promise.all(Array.from({ length: TOGETHER }, one));
    };
    await load(COUNT / 2); // until the code is compiled
    const before = process.cpuUsage();
    await load(COUNT);
    const { user, system } = process.cpuUsage(before);
    console.log((user + system) / COUNT);
    process.exit(0);
  });
});
