// Finds and loads the add-on with the events, and says what went wrong: one line, once, for each process.
// `load` throws where there is no add-on; nothing of the application is touched then.
'use strict';

const fs = require('fs');
const path = require('path');

function load() {
  if (process.platform !== 'linux') throw new Error(`there is no LTTng on ${process.platform}`);
  const file = path.join(__dirname, '..', 'build', 'slowpath_node.node');
  if (!fs.existsSync(file)) throw new Error(`${file} is missing (hint: make -C agents/node)`);
  try {
    return require(file);
  } catch (cause) {
    throw new Error(`${firstLine(cause)} (hint: apt-get install liblttng-ust1; make -C agents/node)`);
  }
}

let hasSaid = false;

/** Threads of JavaScript beside the main one stay silent: they fail for the same reason. */
function say(cause) {
  if (!hasSaid && require('worker_threads').isMainThread) {
    hasSaid = true;
    process.stderr.write(`slowpath: requests of Node are not recorded: ${firstLine(cause)}\n`);
  }
}

const firstLine = (cause) => String((cause && cause.message) || cause).split('\n')[0];

module.exports = { load, say };
