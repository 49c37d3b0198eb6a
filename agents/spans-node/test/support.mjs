// Runs a service under the agent while a real LTTng session records, and reads the events back with
// babeltrace2. The checks that every recording must pass stand here too. Not an emulation of anything:
// without an LTTng daemon of the tests' own (../own-lttng.sh) the tests are skipped, and say so.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const here = path.dirname(fileURLToPath(import.meta.url));
export const register = path.join(here, '..', 'register.js');
export const skip = process.env.OWN_LTTNG ? false : 'no LTTng session daemon of our own here (run: make test)';

const lttng = (...args) => execFileSync('lttng', ['--no-sessiond', '--quiet', ...args], { stdio: 'pipe' });

/** Records span events while `body` runs; returns them in time order, times on the monotonic clock. */
export async function recorded(body, { read = true } = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), 'spans-node-'));
  const session = path.basename(folder);
  try {
    lttng('create', session, '--output', folder);
    lttng('enable-event', '--userspace', '--session', session, 'slowpath_span:*');
    lttng('add-context', '--userspace', '--session', session, '-t', 'vpid', '-t', 'vtid', '-t', 'procname');
    lttng('start', session);
    await body();
    lttng('stop', session);
    return read ? events(folder) : [];
  } finally {
    lttng('destroy', session);
    rmSync(folder, { recursive: true });
  }
}

function events(folder) {
  const text = execFileSync('babeltrace2', ['--clock-cycles', folder], { stdio: 'pipe', maxBuffer: 1 << 30 });
  const line =
    /^\[(\d+)\].* slowpath_span:(\w+): .*vtid = (\d+).*trace_id_high = 0x(\w+), trace_id_low = 0x(\w+), span_id = 0x(\w+)/;
  return text
    .toString()
    .split('\n')
    .filter(Boolean)
    .map((row) => {
      const [, at, name, vtid, high, low, span] = line.exec(row);
      const hex = (digits) => digits.toLowerCase().padStart(16, '0');
      return { at: BigInt(at), name, vtid: Number(vtid), trace: hex(high) + hex(low), span: hex(span) };
    });
}

/**
 * A service as a child process; it prints `{"port":N}` when it listens, and its record of the truth as
 * JSON lines when its input is closed. Each answer of `stop` is {lines, talk (stderr), status}.
 */
export async function service(file, { requires = [register], env = {}, node = process.execPath } = {}) {
  const options = requires.map((module) => `--require ${JSON.stringify(module)}`).join(' ');
  const child = spawn(node, [path.join(here, file)], {
    cwd: here,
    env: { ...process.env, NODE_OPTIONS: options, ...env },
  });
  let output = '';
  let talk = '';
  child.stderr.on('data', (data) => (talk += data));
  const closed = new Promise((resolve) => child.on('close', resolve));
  const port = await new Promise((resolve, reject) => {
    child.stdout.on('data', (data) => {
      const wasListening = output.includes('\n');
      output += data;
      if (!wasListening && output.includes('\n')) resolve(JSON.parse(output.split('\n')[0]).port);
    });
    closed.then(() => reject(new Error(`the service ended: ${talk}`)));
  });
  return {
    port,
    pid: child.pid,
    async stop() {
      child.stdin.end();
      const status = await closed;
      const lines = output.split('\n').slice(1).filter(Boolean).map((row) => JSON.parse(row));
      return { lines, talk, status };
    },
  };
}

/** Sends `count` requests, `together` at a time; returns the trace ids that they carried. */
export async function load(port, { count = 60, together = 6 } = {}) {
  const traces = Array.from({ length: count }, (_, i) => `5105${String(i).padStart(28, '0')}`);
  let next = 0;
  const client = async () => {
    while (next < count) {
      const traceparent = `00-${traces[next++]}-00000000000000ff-01`;
      const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { traceparent } });
      assert.equal(await answer.text(), 'done');
    }
  };
  await Promise.all(Array.from({ length: together }, client));
  return traces;
}

/** Each thread's attach and detach nest, and no thread is on two traces at once. */
export function assertProperlyNested(events) {
  const stacks = new Map();
  for (const event of events) {
    if (event.name !== 'attach' && event.name !== 'detach') continue;
    if (!stacks.has(event.vtid)) stacks.set(event.vtid, []);
    const stack = stacks.get(event.vtid);
    if (event.name === 'attach') {
      assert.ok(!stack.length || stack[0].trace === event.trace, `two traces at once at ${event.at}`);
      stack.push(event);
    } else {
      assert.equal(stack.pop()?.span, event.span, `detach of what is not innermost at ${event.at}`);
    }
  }
  for (const stack of stacks.values()) assert.deepEqual(stack, [], 'attached and never detached');
}

/** Each of `spans` ({trace, span}) started and ended once, and nothing else did. */
export function assertStartsAndEnds(events, spans) {
  const ids = (list) => list.map(({ trace, span }) => `${trace} ${span}`).sort();
  const named = (name) => ids(events.filter((event) => event.name === name));
  assert.deepEqual(named('start_span'), ids(spans));
  assert.deepEqual(named('end_span'), ids(spans));
}

/**
 * While a piece of work ran ({trace, span?, begin, end}), its thread was attached to its span the whole
 * time. The service's word on what it worked on is the truth here.
 */
export function assertWorkIsFollowed(events, work, thread) {
  const moves = events.filter((e) => e.vtid === thread && (e.name === 'attach' || e.name === 'detach'));
  const stack = [];
  let next = 0;
  for (const piece of work) {
    while (next < moves.length && moves[next].at <= BigInt(piece.begin)) {
      if (moves[next].name === 'attach') stack.push(moves[next]);
      else stack.pop();
      next++;
    }
    const innermost = stack.at(-1);
    assert.equal(innermost?.trace, piece.trace, `at ${piece.begin}`);
    if (piece.span) assert.equal(innermost.span, piece.span, `at ${piece.begin}`);
    assert.ok(next === moves.length || moves[next].at >= BigInt(piece.end), `moved within ${piece.begin}`);
  }
}
