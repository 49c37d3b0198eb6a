/*
 * Counts responses in their contexts, and has objects of a few of them watched: as the sampling rate, the cap
 * of each second and the contexts' own want of samples allow. What watching means, the backend knows.
 */
package slowpath.transfers;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

final class Transfers {
    private static final int MOST_CONTEXTS = 10_000;

    /** Responses that were not looked into as this second had enough of them. */
    final LongAdder overCap = new LongAdder();
    /** Responses that were not counted as there are too many contexts, and those that the agent failed on. */
    final LongAdder withoutContext = new LongAdder();
    final LongAdder failures = new LongAdder();

    private final Options options;
    private final Backend backend;
    private final Lifetimes lifetimes;
    private final CallPaths callPaths;
    private final Map<Context.Key, Context> contexts = new ConcurrentHashMap<>();
    private final AtomicInteger numbers = new AtomicInteger();
    private final Cap watching = new Cap();
    /** The same of responses that arrive where nothing of the application has been seen yet: these cost others nothing. */
    private final Cap searching = new Cap();
    /** The same of responses whose objects are counted only, as there are samples enough: do these stand for others? */
    private final Cap counting = new Cap();

    Transfers(Options options, Backend backend, Lifetimes lifetimes, CallPaths callPaths) {
        this.options = options;
        this.backend = backend;
        this.lifetimes = lifetimes;
        this.callPaths = callPaths;
    }

    Collection<Context> contexts() {
        return contexts.values();
    }

    /** Whether what arrives counts now. */
    boolean isCounting() {
        return options.isCounting;
    }

    /** Whether code that Spring calls may be the application's, and read objects before they are returned. */
    boolean mayRead(String className) {
        return !className.startsWith("org.springframework.") || options.application.contain(className);
    }

    /**
     * What a client returns, or a parser made of its answer, is about to reach the application. Throws nothing; called by
     * hooks without more ado, as each frame on the stack costs time where the call path is looked for.
     * @param isNew whether the application has not seen it yet: only then it may be looked into
     */
    void received(Object root, Endpoint endpoint, String by, boolean isNew) {
        try {
            if (options.isCounting && !Graph.isPlain(root)) {
                received(root, caller(), endpoint, by, isNew);
            }
        } catch (Throwable cause) {
            failures.increment();
        }
    }

    /** Who asks for something now; null: it cannot be had, nothing counts, or another stands for this one. */
    Caller caller() {
        try {
            return options.isCounting ? callPaths.here() : null;
        } catch (Throwable cause) {
            failures.increment();
            return null;
        }
    }

    /** What was asked for by this caller is about to reach the application, on whatever thread. */
    void received(Object root, Caller caller, Endpoint endpoint, String by, boolean isNew) {
        if (caller == null || Graph.isPlain(root)) {
            return;
        }
        ThreadState thread = ThreadState.current();
        int uncounted = thread.uncounted;
        thread.beginWork();
        try {
            Context context = contextOf(new Context.Key(caller.path, endpoint, by));
            if (context == null) {
                withoutContext.add(caller.standsFor);
                return;
            }
            context.received(caller.standsFor);
            NativeEvents.tell(context);
            if (isNew && isWithinRate()) {
                if (!context.isShort(options.samples)) {
                    if (!context.rows.isEmpty() && counting.isWithin(options.armsPerSecond)) {
                        look(root, context, thread);
                    }
                } else if ((context.rows.isEmpty() ? searching : watching).isWithin(options.armsPerSecond)) {
                    look(root, context, thread);
                } else {
                    overCap.add(caller.standsFor);
                }
            }
        } catch (Throwable cause) {
            failures.increment();
        } finally {
            thread.uncounted = uncounted; // Here, as a call may find no room on the stack.
            thread.endWork();
        }
    }

    /** @param isOver whether nothing else serves the request any more */
    void requestEnded(List<Lifetimes.Sample> samples, boolean isOver) {
        if (isOver) {
            lifetimes.requestEnded(samples);
        } else {
            lifetimes.requestGoesOn(samples);
        }
    }

    /** Null: there are too many. */
    private Context contextOf(Context.Key key) {
        Context context = contexts.get(key);
        return context != null || contexts.size() >= MOST_CONTEXTS ? context
                : contexts.computeIfAbsent(key, added -> new Context(numbers.incrementAndGet(), added));
    }

    private boolean isWithinRate() {
        double rate = options.rate;
        return rate >= 1 || ThreadLocalRandom.current().nextDouble() < rate;
    }

    private void look(Object root, Context context, ThreadState thread) {
        Graph graph = new Graph(root, context.endpoint.encoding, backend::dataClass);
        context.looked.increment();
        if (graph.classes.isEmpty() && !graph.isEmpty) {
            context.fruitless.increment();
        }
        boolean isWhole = !graph.tooLarge;
        // Where not all can be watched, not always the same ones.
        List<Map.Entry<DataClass, Graph.OfClass>> classes = new ArrayList<>(graph.classes.entrySet());
        Collections.shuffle(classes, ThreadLocalRandom.current());
        for (Map.Entry<DataClass, Graph.OfClass> found : classes) {
            Row row = context.row(found.getKey());
            if (row == null) {
                isWhole = false;
                continue;
            }
            row.found(found.getValue().count);
            if (row.isShort(options.samples)) {
                Graph.OfClass ofClass = found.getValue();
                backend.watch(ofClass.one, ofClass.count, found.getKey(), row, thread.ofRequest());
            }
        }
        if (!isWhole) {
            context.tooLarge.increment();
        }
    }
}
