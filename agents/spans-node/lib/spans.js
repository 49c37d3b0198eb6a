// Tells of each span's start and end, by wrapping two methods of OpenTelemetry's public interface on
// the SDK's own classes: Tracer.startSpan and Span.end. Spans that the sampler dropped and spans of
// other processes have other classes and are left alone. Each start is also where we notice that a
// recording began or ended.
'use strict';

const ours = Symbol('slowpath');
const words = new WeakMap();

/** The six 32-bit words of trace id and span id; read once for each span. */
function wordsOf(span) {
  let six = words.get(span);
  if (six === undefined) {
    const { traceId, spanId } = span.spanContext();
    const digits = traceId + spanId;
    six = new Uint32Array(6);
    for (let word = 0; word < 6; word++) six[word] = parseInt(digits.slice(word * 8, word * 8 + 8), 16);
    words.set(span, six);
  }
  return six;
}

/** Whether the span is one of an SDK in this process, so that its start and end are told. */
function isTold(span) {
  return span !== undefined && span.end[ours] === true;
}

function tell(provider, native, follower) {
  // A tracer of our own shows the class of all of them.
  const tracers = prototypeWith(provider.getTracer('slowpath'), 'startSpan');
  if (!tracers || tracers.startSpan[ours]) return;
  const startSpan = tracers.startSpan;
  tracers.startSpan = function () {
    const span = startSpan.apply(this, arguments);
    if (follower.isRecording() && span.isRecording()) {
      native.ids.set(wordsOf(span));
      native.start();
    }
    if (span.end[ours] === undefined && span.isRecording()) wrapEnd(span);
    return span;
  };
  tracers.startSpan[ours] = true;

  function wrapEnd(span) {
    const spans = prototypeWith(span, 'end');
    if (!spans) return;
    const end = spans.end;
    spans.end = function () {
      if (follower.isRecording() && this.isRecording()) {
        native.ids.set(wordsOf(this));
        native.end();
      }
      return end.apply(this, arguments);
    };
    spans.end[ours] = true;
  }
}

/** The object in the chain of prototypes that has the method itself; not the object given. */
function prototypeWith(object, method) {
  let prototype = Object.getPrototypeOf(object);
  while (prototype && !Object.prototype.hasOwnProperty.call(prototype, method)) {
    prototype = Object.getPrototypeOf(prototype);
  }
  return prototype && prototype !== Object.prototype ? prototype : undefined;
}

module.exports = { tell, isTold, wordsOf };
