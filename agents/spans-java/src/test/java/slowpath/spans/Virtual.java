/*
 * A program under the OpenTelemetry agent whose requests are served by Java's virtual threads, several at a
 * time: each waits a while with its span current, and mostly goes on on another thread of the system. Between
 * two rounds, the main thread serves a request. Prints the events that this must fire, as HandOffs does:
 * starts and ends of all, attach and detach of the main thread only.
 */
package slowpath.spans;

import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Scope;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

public final class Virtual {
    private static final int ROUNDS = 10, AT_A_TIME = 8;
    private static final Tracer TRACER = GlobalOpenTelemetry.getTracer("virtual");

    private Virtual() {}

    public static void main(String[] arguments) throws Exception {
        // Of Java 21; the tests are built for 11.
        Method startVirtualThread = Thread.class.getMethod("startVirtualThread", Runnable.class);
        for (int round = 0; round < ROUNDS; round++) {
            List<Thread> threads = new ArrayList<>();
            for (int number = 0; number < AT_A_TIME; number++) {
                threads.add((Thread) startVirtualThread.invoke(null, (Runnable) Virtual::pause));
            }
            for (Thread thread : threads) {
                thread.join();
            }
            stay();
        }
    }

    private static void pause() {
        Span request = TRACER.spanBuilder("pause").startSpan();
        HandOffs.say("start_span", request);
        try (Scope scope = request.makeCurrent()) {
            Thread.sleep(5);
        } catch (InterruptedException cause) {
            throw new IllegalStateException(cause);
        }
        request.end();
        HandOffs.say("end_span", request);
    }

    private static void stay() {
        Span request = TRACER.spanBuilder("stay").startSpan();
        HandOffs.say("start_span", request);
        try (Scope scope = request.makeCurrent()) {
            HandOffs.say("attach", request);
        }
        HandOffs.say("detach", request);
        request.end();
        HandOffs.say("end_span", request);
    }
}
