// Requests over HTTP/1.1 by undici, which also is Node's `fetch`: of the copy inside Node and of any in the
// application. Diagnostics channels tell when; for whom is known where the application asks, which is when a
// dispatcher is given a handler: a pool whose connections are all busy keeps that, as an interceptor of the application
// may, and makes the request while it reads the answer to another one.
'use strict';

const { AsyncResource } = require('async_hooks');
const { CLIENT_REQUEST, CLIENT_RESPONSE } = require('./moments.cjs');
const { followFiles } = require('./modules.cjs');
const { pathOf } = require('./paths.cjs');
const { subscribeWhileOn } = require('./recording.cjs');

const WORK = Symbol('slowpath.work');
/** For whom a handler is; a proxy of the handler, and what inherits from it, has that, too. */
const CAUSE = Symbol('slowpath.cause');
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');
const UNKNOWN = 0;
/** Handlers of retries and redirects hold the one that they are for. */
const MOST_HANDLERS = 8;

function follow(recording) {
  /** Where `dispatch` is wrapped, and the inner function of that name. */
  const wrapped = new WeakSet();
  /** For whom the innermost dispatcher works that is under way. */
  let current;

  const known = (handler) => {
    for (let i = 0; i < MOST_HANDLERS && handler !== null && typeof handler === 'object'; i++) {
      const cause = handler[CAUSE];
      if (cause !== undefined) return cause;
      if (handler instanceof AsyncResource) return recording.contextAt(handler);
      handler = handler.handler;
    }
    return undefined;
  };

  const causeOf = (dispatcher, handler) => {
    const cause = known(handler) ?? current;
    if (cause !== undefined) return cause;
    // A pool, which listens to its clients, gives one what it kept since before the recording.
    const isHeard = typeof dispatcher.listenerCount === 'function' && dispatcher.listenerCount('drain') > 0;
    // An application may listen to a pool.
    const isPool = () => Object.getOwnPropertySymbols(dispatcher).some(({ description }) => description === 'clients');
    return isHeard && !isPool() ? UNKNOWN : recording.currentContext();
  };

  const begin = recording.guarded((handler, cause) => {
    current = cause;
    const isNew = handler !== null && typeof handler === 'object' && handler[CAUSE] === undefined;
    if (isNew) Reflect.defineProperty(handler, CAUSE, { value: cause });
  });

  const beginDispatch = recording.guarded((dispatcher, handler) => {
    wrapInner(dispatcher);
    begin(handler, causeOf(dispatcher, handler));
  });

  function wrap(prototype, key) {
    const dispatch = prototype[key];
    if (wrapped.has(dispatch)) return;
    const wrapper = function (options, handler) {
      if (!recording.on) return dispatch.apply(this, arguments);
      const outer = current;
      beginDispatch(this, handler);
      try {
        return dispatch.apply(this, arguments);
      } finally {
        current = outer;
      }
    };
    wrapped.add(wrapper);
    Object.defineProperty(prototype, key, { ...Object.getOwnPropertyDescriptor(prototype, key), value: wrapper });
  }

  /** An interceptor; `causeNow` is for whom a handler is of which nothing is known. */
  const interceptor = (causeNow) => (dispatch) => (options, handler) => {
    if (!recording.on) return dispatch(options, handler);
    const outer = current;
    begin(handler, known(handler) ?? current ?? causeNow());
    try {
      return dispatch(options, handler);
    } finally {
      current = outer;
    }
  };
  const outermost = interceptor(() => recording.currentContext());
  // An interceptor may have kept the request until the answer to another one came.
  const innermost = interceptor(() => UNKNOWN);

  function wrapCompose(prototype) {
    const { compose } = prototype;
    if (wrapped.has(compose)) return;
    const wrapper = function (...interceptors) {
      return compose.call(this, [innermost, ...interceptors.flat(), outermost]);
    };
    wrapped.add(wrapper);
    Object.defineProperty(prototype, 'compose', { ...Object.getOwnPropertyDescriptor(prototype, 'compose'), value: wrapper });
  }

  /** What each kind of dispatcher does itself: it gets the handler as the pool keeps it. */
  function wrapInner(dispatcher) {
    const [prototype, key] = owner(dispatcher, (one) =>
      Object.getOwnPropertySymbols(one).find(({ description }) => description === 'dispatch'),
    );
    if (key !== undefined && typeof prototype[key] === 'function') wrap(prototype, key);
  }

  /** Of a copy of undici that was not seen when it was loaded: the one inside Node, or in a bundle. */
  function wrapGlobal() {
    const dispatcher = globalThis[GLOBAL_DISPATCHER];
    if (typeof dispatcher?.dispatch !== 'function') return false;
    const [prototype] = owner(Object.getPrototypeOf(dispatcher), (one) => Object.hasOwn(one, 'dispatch') || undefined);
    if (!prototype || wrapped.has(prototype.dispatch)) return false;
    wrap(prototype, 'dispatch');
    return true;
  }

  followFiles(recording, [
    [
      /[/\\]undici[^/\\]*[/\\]lib[/\\](dispatcher[/\\])?dispatcher-base\.js$/,
      (DispatcherBase) => {
        if (typeof DispatcherBase?.prototype?.dispatch === 'function') wrap(DispatcherBase.prototype, 'dispatch');
      },
    ],
    [
      /[/\\]undici[^/\\]*[/\\]lib[/\\]dispatcher[/\\]dispatcher\.js$/,
      (Dispatcher) => {
        if (typeof Dispatcher?.prototype?.compose === 'function') wrapCompose(Dispatcher.prototype);
      },
    ],
  ]);
  recording.add({ begin: wrapGlobal });

  const causeOfUnseen = (request) => {
    const key = Object.getOwnPropertySymbols(request).find(({ description }) => description === 'handler');
    // Node's own copy, with the first request that it makes; it keeps none waiting.
    return known(request[key]) ?? (wrapGlobal() ? recording.currentContext() : UNKNOWN);
  };

  subscribeWhileOn(recording, {
    'undici:request:create'({ request }) {
      const cause = current ?? causeOfUnseen(request);
      request[WORK] = { context: recording.newNumber(), cause, version: 11 };
    },
    'undici:client:sendHeaders'({ request, socket }) {
      const work = request[WORK];
      if (!work || !socket) return;
      work.connection = recording.connectionOf(socket);
      work.number = work.connection.nextNumber();
      recording.tellRequest(CLIENT_REQUEST, work, socket.bytesWritten, request.method, pathOf(request.path));
    },
    'undici:request:headers'({ request, response }) {
      const work = request[WORK];
      if (work && work.connection) recording.tellResponse(CLIENT_RESPONSE, work, response.statusCode);
    },
  });
}

/** The first in the chain of prototypes of which `find` finds something, and what. */
function owner(object, find) {
  for (let one = object; one; one = Object.getPrototypeOf(one)) {
    const found = find(one);
    if (found !== undefined) return [one, found];
  }
  return [];
}

module.exports = { follow };
