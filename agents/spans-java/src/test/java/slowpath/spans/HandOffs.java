/*
 * A program under the OpenTelemetry agent whose requests go from thread to thread: each starts on the main
 * thread, works in one pool, is handed to a second one and ends there. Prints the events that this must
 * fire, thread by thread in order, as "event trace_id_high trace_id_low span_id vtid". It knows
 * nothing of our extension; test.sh compares its lines with the trace.
 */
package slowpath.spans;

import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.ContextKey;
import io.opentelemetry.context.Scope;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public final class HandOffs {
    private static final int REQUESTS = 200;
    private static final Tracer TRACER = GlobalOpenTelemetry.getTracer("hand-offs");
    private static final ContextKey<String> NOT_A_SPAN = ContextKey.named("not-a-span");

    private HandOffs() {}

    public static void main(String[] arguments) throws Exception {
        ExecutorService first = Executors.newFixedThreadPool(3);
        ExecutorService second = Executors.newFixedThreadPool(2);
        Future<?>[] requests = new Future<?>[REQUESTS];
        for (int index = 0; index < REQUESTS; index++) {
            Span request = TRACER.spanBuilder("request " + index).startSpan();
            say("start_span", request);
            try (Scope scope = request.makeCurrent()) {
                say("attach", request);
                // The agent's own instrumentation makes the request current in the pool's thread.
                requests[index] = first.submit(() -> work(request, second));
            }
            say("detach", request);
        }
        for (Future<?> request : requests) {
            ((Future<?>) request.get()).get();
        }
        first.shutdown();
        second.shutdown();
    }

    private static Future<?> work(Span request, ExecutorService second) {
        say("attach", request);
        Span query = TRACER.spanBuilder("query").startSpan();
        say("start_span", query);
        Future<?> rest;
        try (Scope scope = query.makeCurrent()) {
            say("attach", query);
            // No other span is current in these: no events.
            try (Scope same = query.makeCurrent();
                    Scope moreThanSpan = Context.current().with(NOT_A_SPAN, "value").makeCurrent()) {
                rest = second.submit(() -> answer(request, query));
            }
        }
        say("detach", query);
        say("detach", request);
        return rest;
    }

    private static void answer(Span request, Span query) {
        say("attach", query);
        query.end();
        say("end_span", query);
        request.end();
        say("end_span", request);
        say("detach", query);
    }

    /** Prints an event that the calling thread has just caused. */
    static void say(String event, Span span) {
        SpanContext ids = span.getSpanContext();
        System.out.println(event + " " + digits(ids.getTraceId().substring(0, 16)) + " "
                + digits(ids.getTraceId().substring(16)) + " " + digits(ids.getSpanId()) + " " + threadNumber());
    }

    private static String digits(String hexadecimal) {
        return Long.toHexString(Long.parseUnsignedLong(hexadecimal, 16));
    }

    /** The kernel's number of this thread, which Java does not tell. */
    private static String threadNumber() {
        try {
            Path link = Files.readSymbolicLink(Path.of("/proc/thread-self"));
            return link.getFileName().toString();
        } catch (IOException cause) {
            throw new IllegalStateException("cannot read /proc/thread-self", cause);
        }
    }
}
