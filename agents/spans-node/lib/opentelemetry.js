// Sees OpenTelemetry's registration, whoever does it and from wherever it was loaded (CommonJS, ES
// modules, bundles, several copies): every copy of @opentelemetry/api 1.x meets in one object on
// globalThis, and puts its context manager and tracer provider there. We put an accessor in both
// places. Relies on nothing but that object's name and these two keys, kept since api 1.0.
'use strict';

const API = Symbol.for('opentelemetry.js.api.1');

/**
 * Calls `visitors.contextManager(manager)` and `visitors.tracerProvider(provider)` for each one that is
 * or gets registered, before the application uses it.
 */
function whenRegistered(visitors) {
  const seeProvider = (proxy) => {
    // The API registers a proxy first and gives it the real provider afterwards.
    if (typeof proxy.setDelegate !== 'function') return visitors.tracerProvider(proxy);
    const setDelegate = proxy.setDelegate;
    proxy.setDelegate = function (provider) {
      guarded(visitors.tracerProvider, provider);
      return setDelegate.apply(this, arguments);
    };
    if (proxy._delegate) visitors.tracerProvider(proxy._delegate);
  };
  const seeApi = (api) => {
    watchProperty(api, 'trace', seeProvider);
    watchProperty(api, 'context', visitors.contextManager);
  };
  watchProperty(globalThis, API, seeApi);
}

/** Calls `visit` with the property's value now, if any, and with each new one. Reading stays cheap. */
function watchProperty(object, key, visit) {
  const present = Object.getOwnPropertyDescriptor(object, key);
  if (present && (present.get || !present.configurable)) return;
  let value = present && present.value;
  if (value) guarded(visit, value);
  Object.defineProperty(object, key, {
    configurable: true,
    enumerable: true,
    get: () => value,
    set: (next) => {
      const isNew = next !== value;
      value = next;
      // A deleted accessor below the same object is put back here, too.
      if (next && (isNew || object === globalThis)) guarded(visit, next);
    },
  });
}

function guarded(visit, value) {
  try {
    visit(value);
  } catch {
    // The application goes on without us.
  }
}

module.exports = { whenRegistered };
