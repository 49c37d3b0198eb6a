// Follows the current span of this thread: by wrapping the context manager's `with`, and by async_hooks
// for what no `with` shows, the resumption of a request after `await`, a timer or an answer from the
// network. All of it works only while something records: with async_hooks every promise costs.
// Invariant: outside of callbacks the thread is on no span, so two requests are never told at once.
'use strict';

const asyncHooks = require('async_hooks');
const { isTold, wordsOf } = require('./spans');

// What OpenTelemetry's API calls the place of the span in a context.
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN');

function create(native) {
  let manager;
  let recording = false;
  let turns = 0; // how often that changed
  let current; // the span told last as followed
  let outer = []; // spans of the callbacks that the running one interrupted, innermost last
  let outerIds = []; // and the async id of the callback that did so

  const hook = asyncHooks.createHook({
    before(asyncId) {
      outer.push(current);
      outerIds.push(asyncId);
      follow(spanOf(manager.active()));
    },
    after(asyncId) {
      // Callbacks that ran when the recording began have no place here.
      const place = outerIds.lastIndexOf(asyncId);
      const span = place < 0 ? undefined : outer[place];
      outer.length = outerIds.length = Math.max(place, 0);
      follow(span);
    },
  });

  function spanOf(context) {
    const span = context.getValue(SPAN);
    return isTold(span) ? span : undefined;
  }

  function follow(span) {
    if (span === current) return;
    current = span;
    if (span === undefined) native.ids.fill(0);
    else native.ids.set(wordsOf(span));
    native.follow();
  }

  /** Asks the library, and turns following on or off when the answer has changed. */
  function isRecording() {
    const now = native.isRecording();
    if (now !== recording) {
      recording = now;
      turns += 1;
      outer = [];
      outerIds = [];
      if (!now) {
        hook.disable();
        follow(undefined);
      } else if (manager) {
        hook.enable();
      }
    }
    return now;
  }

  function watch(registered) {
    manager = registered;
    const original = registered.with;
    registered.with = function (context) {
      if (!recording) return original.apply(this, arguments);
      const before = current;
      const turn = turns;
      follow(spanOf(context));
      try {
        return original.apply(this, arguments);
      } finally {
        // What was followed in an earlier recording is nothing to go back to.
        if (turn === turns) follow(before);
      }
    };
    isRecording(); // the first request is to be followed from its beginning
  }

  return { isRecording, watch };
}

module.exports = { create };
