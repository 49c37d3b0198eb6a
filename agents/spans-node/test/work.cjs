// Pieces of work that the test services do and keep the truth of: which trace (and span) this thread
// worked on, from when to when on the monotonic clock. What the events say is held against it.
const http = require('node:http');

const truth = [];

/** Keeps the processor busy for a fifth of a millisecond. */
function work(trace, span) {
  const begin = process.hrtime.bigint();
  let end;
  do end = process.hrtime.bigint();
  while (end - begin < 200_000n);
  truth.push({ trace, span, begin: String(begin), end: String(end) });
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Serves until the input is closed, then prints what `lastWords` adds to the truth. */
function serve(handler, lastWords = () => []) {
  const server = http.createServer(handler);
  server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })));
  process.stdin.resume().on('end', () => {
    for (const line of [...truth, ...lastWords()]) console.log(JSON.stringify(line));
    server.close();
    server.closeAllConnections();
  });
}

module.exports = { serve, sleep, work };
