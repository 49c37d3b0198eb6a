// How late the event loop is: a timer that tells how much longer than asked it took, and for how long the
// loop was busy meanwhile. Runs only while a session records it.
'use strict';

const { performance } = require('perf_hooks');

const ASKED_MS = 20;
const nanoseconds = (milliseconds) => Math.max(0, Math.round(milliseconds * 1e6));

function follow(recording) {
  let timer;
  let since;
  let used;

  function wait() {
    since = performance.now();
    used = performance.eventLoopUtilization();
    timer = setTimeout(tell, ASKED_MS);
    timer.unref();
  }
  const tell = recording.guarded(() => {
    const delay = performance.now() - since - ASKED_MS;
    const { active } = performance.eventLoopUtilization(used);
    recording.tellEventLoopDelay(nanoseconds(ASKED_MS), nanoseconds(delay), nanoseconds(active));
    wait();
  });

  recording.add({ beginEventLoop: wait, endEventLoop: () => clearTimeout(timer) });
}

module.exports = { follow };
