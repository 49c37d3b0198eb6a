/*
 * Fires start_span and end_span on the thread where a sampled span starts and ends. Keeps nothing and
 * exports nothing, so it has nothing to flush or shut down.
 */
package slowpath.spans;

import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SpanProcessor;

final class EventSpanProcessor implements SpanProcessor {
    @Override
    public void onStart(Context parentContext, ReadWriteSpan span) {
        if (NativeSpans.startsRecorded()) {
            SpanContext context = span.getSpanContext();
            String traceId = context.getTraceId();
            NativeSpans.start(SpanIds.bits(traceId, 0), SpanIds.bits(traceId, 16), SpanIds.bits(context.getSpanId(), 0));
        }
    }

    @Override
    public boolean isStartRequired() {
        return true;
    }

    @Override
    public void onEnd(ReadableSpan span) {
        if (NativeSpans.endsRecorded()) {
            SpanContext context = span.getSpanContext();
            String traceId = context.getTraceId();
            NativeSpans.end(SpanIds.bits(traceId, 0), SpanIds.bits(traceId, 16), SpanIds.bits(context.getSpanId(), 0));
        }
    }

    @Override
    public boolean isEndRequired() {
        return true;
    }
}
