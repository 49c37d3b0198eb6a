// Whether any session records, and what all parts share while one does: contexts of asynchronous work,
// connections and their numbers, and the ways to tell. A timer looks every quarter of a second, so that
// a request costs nothing while nobody records; only what must be in place before that asks `on`.
'use strict';

const { AsyncLocalStorage } = require('async_hooks');
const { threadId } = require('worker_threads');
const { connectionOf } = require('./connections.cjs');
const { say } = require('./native.cjs');
const { teller } = require('./told.cjs');

const LOOK_EVERY_MS = 250;
const WORK = 1;
const EVENT_LOOP = 2;

// Numbers of threads do not meet: each has 2^32 of its own.
let lastNumber = threadId * 2 ** 32;
/** A number that this process uses once. */
const newNumber = () => ++lastNumber;

function create(native) {
  const { tellRequest, tellResponse, tellRedis } = teller(native);
  const parts = [];
  let recorded = 0;
  let timer;
  let contexts;

  const recording = {
    /** Whether a session records requests or commands. */
    on: false,
    /** Goes up when recording begins: what was counted before may have gaps. */
    turn: 0,
    newNumber,
    /** Adds {begin?, end?, beginEventLoop?, endEventLoop?}, called when recording begins and ends. */
    add: (part) => parts.push(part),

    /** The context of the server request that is being served, 0 where none is known. */
    currentContext: () => (contexts && contexts.getStore()) || 0,
    /** The same where `resource`, an AsyncResource, was made. */
    contextAt: (resource) => resource.runInAsyncScope(recording.currentContext),
    /** What runs from here on, and what it starts, belongs to `context`. */
    enterContext: (context) => contexts.enterWith(context),
    /** Runs `work`, and what it starts, for `context`. */
    inContext: (context, work) => (contexts ? contexts.run(context, work) : work()),
    connectionOf: (socket, isNew) => connectionOf(socket, recording, isNew),

    tellRequest,
    tellResponse,
    tellRedis,
    tellEventLoopDelay: native.eventLoopDelay,

    /** `work`, which the application calls unknowingly and which must not throw into it. */
    guarded: (work) => (first, second) => {
      try {
        work(first, second);
      } catch (cause) {
        stop();
        say(cause);
      }
    },
    watch() {
      const look = recording.guarded(() => become(native.recorded()));
      timer = setInterval(look, LOOK_EVERY_MS);
      timer.unref();
      look();
    },
  };

  function become(now) {
    const changed = now ^ recorded;
    recorded = now;
    if (changed & WORK) {
      recording.on = (now & WORK) !== 0;
      if (recording.on) {
        recording.turn++;
        contexts = new AsyncLocalStorage();
        for (const part of parts) part.begin?.();
      } else {
        for (const part of parts) part.end?.();
        contexts.disable();
        contexts = undefined;
      }
    }
    if (changed & EVENT_LOOP) {
      for (const part of parts) now & EVENT_LOOP ? part.beginEventLoop?.() : part.endEventLoop?.();
    }
  }

  function stop() {
    clearInterval(timer);
    recording.on = false;
    try {
      become(0);
    } catch {
      // What could not even be taken away asks `on`, or is guarded like what failed first.
    }
  }

  return recording;
}

/** Subscribes `subscriptions`, {channel name: what to do with its message}, while a session records. */
function subscribeWhileOn(recording, subscriptions) {
  const channels = require('diagnostics_channel');
  const guarded = Object.entries(subscriptions).map(([name, work]) => [name, recording.guarded(work)]);
  recording.add({
    // Of the channel object, as Node before 18.7 has no other; that it stays alive, `guarded` sees to.
    begin: () => guarded.forEach((entry) => (entry[2] = channels.channel(entry[0])).subscribe(entry[1])),
    end: () => guarded.forEach(([, work, channel]) => channel?.unsubscribe(work)),
  });
}

module.exports = { create, subscribeWhileOn };
