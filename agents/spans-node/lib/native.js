// Finds and loads the add-on and, through it, the C library with the events. Throws an error of one
// line where either is missing; nothing of OpenTelemetry is touched then.
'use strict';

const fs = require('fs');
const path = require('path');

const build = path.join(__dirname, '..', 'build');

function load() {
  if (process.platform !== 'linux') throw new Error(`there is no LTTng on ${process.platform}`);
  const file = path.join(build, 'slowpath_spans.node');
  if (!fs.existsSync(file)) throw new Error(`${file} is missing (hint: make -C agents/spans-node)`);
  const native = require(file);
  const beside = path.join(build, 'libslowpath_spans.so');
  const library =
    process.env.SLOWPATH_SPANS_LIBRARY || (fs.existsSync(beside) ? beside : 'libslowpath_spans.so');
  const reason = native.load(library);
  if (reason !== undefined) throw new Error(`${reason} (hint: apt-get install liblttng-ust1)`);
  const switches = native.switches();
  if (!switches) throw new Error('this JavaScript engine shows no memory of C libraries');
  const [start, end, attach, detach] = switches;
  return {
    /** The ids that the next call is about, as six 32-bit words. */
    ids: native.ids,
    start: native.start,
    end: native.end,
    follow: native.follow,
    /** Whether any session records any of the events: four loads, no call. */
    isRecording: () => (start[0] | end[0] | attach[0] | detach[0]) !== 0,
  };
}

module.exports = { load };
