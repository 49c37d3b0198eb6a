/*
 * Fires attach when another span becomes current on a thread, and detach when it no longer is. Contexts
 * that change anything but the span, and those without a sampled span of this process, fire nothing; nor
 * do those of virtual threads, which go from one thread of the system to another without a word.
 * While nothing records, every scope is the wrapped storage's own: nothing is allocated, nothing kept.
 */
package slowpath.spans;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.ContextStorage;
import io.opentelemetry.context.Scope;

final class EventContextStorage implements ContextStorage {
    private final ContextStorage wrapped;

    EventContextStorage(ContextStorage wrapped) {
        this.wrapped = wrapped;
    }

    @Override
    public Scope attach(Context context) {
        if (!NativeSpans.attachesRecorded()) {
            return wrapped.attach(context);
        }
        Context before = wrapped.current();
        Scope scope = wrapped.attach(context);
        Span span = context == null ? null : Span.fromContextOrNull(context);
        if (span == null || (before != null && isSame(span, Span.fromContextOrNull(before)))) {
            return scope;
        }
        SpanContext ids = span.getSpanContext();
        if (!ids.isSampled() || ids.isRemote() || VirtualThreads.isVirtual(Thread.currentThread())) {
            return scope;
        }
        return new AttachedScope(scope, ids);
    }

    @Override
    public Context current() {
        return wrapped.current();
    }

    @Override
    public Context root() {
        return wrapped.root();
    }

    private static boolean isSame(Span one, Span other) {
        return one == other || (other != null && one.getSpanContext().equals(other.getSpanContext()));
    }

    /**
     * A scope that has fired attach and owes a detach: once, and on the same thread. One closed on
     * another thread (an application's mistake, which OpenTelemetry ignores) owes none there.
     */
    private static final class AttachedScope implements Scope {
        private final Scope wrapped;
        private final Thread thread = Thread.currentThread();
        private final long traceIdHigh;
        private final long traceIdLow;
        private final long spanId;
        private boolean closed;

        AttachedScope(Scope wrapped, SpanContext ids) {
            this.wrapped = wrapped;
            String traceId = ids.getTraceId();
            traceIdHigh = SpanIds.bits(traceId, 0);
            traceIdLow = SpanIds.bits(traceId, 16);
            spanId = SpanIds.bits(ids.getSpanId(), 0);
            NativeSpans.attach(traceIdHigh, traceIdLow, spanId);
        }

        @Override
        public void close() {
            if (!closed && Thread.currentThread() == thread) {
                closed = true;
                NativeSpans.detach(traceIdHigh, traceIdLow, spanId);
            }
            wrapped.close();
        }
    }
}
