/*
 * What a span (start, make current, close, end) costs its thread under the OpenTelemetry agent, in
 * nanoseconds of processor time: the best and the median of many rounds. bench.sh runs it without our extension,
 * with it, and recorded. Not a benchmark of the agent.
 */
package slowpath.spans;

import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Scope;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;

public final class Cost {
    private static final int ROUNDS = 60;
    private static final int SPANS_PER_ROUND = 20_000;

    private Cost() {}

    public static void main(String[] arguments) throws InterruptedException {
        Tracer tracer = GlobalOpenTelemetry.getTracer("cost");
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long[] rounds = new long[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            long begin = threads.getCurrentThreadCpuTime();
            for (int index = 0; index < SPANS_PER_ROUND; index++) {
                Span span = tracer.spanBuilder("span").startSpan();
                span.makeCurrent().close();
                span.end();
            }
            rounds[round] = (threads.getCurrentThreadCpuTime() - begin) / SPANS_PER_ROUND;
            Thread.sleep(5);
        }
        Arrays.sort(rounds);
        System.out.println("best " + rounds[0] + " ns, median " + rounds[ROUNDS / 2] + " ns per span");
    }
}
