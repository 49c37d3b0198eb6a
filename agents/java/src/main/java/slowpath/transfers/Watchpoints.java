/*
 * The backend of the paper: of a few objects at a time one field each, chosen by chance, is watched by a debug register
 * of the processor. No field is added to classes, so it serves a program that runs already; but there are four registers,
 * and aiming one costs time for each thread. Once the request is over that received the object, its register is free;
 * what was seen until then counts when the object is dead. What counts as a read: src/main/cpp/watchpoints.cpp.
 */
package slowpath.transfers;

import java.lang.instrument.Instrumentation;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingDeque;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;

final class Watchpoints implements Backend {
    /** Kinds of reads that are no use: the agent's and libraries' own, those of toString, hashCode and equals. */
    static final int OWN = 1;
    static final int PRINTS = 2;

    private static final int REGISTERS = 4;
    private static final int MOST_TO_PREPARE = 100;
    private static final long LONGEST_PREPARING_NANOS = 100_000_000L;
    /** No object is watched for longer, so that those that live on do not have all registers; then it is censored. */
    private static final long LONGEST_NANOS = 10_000_000_000L;

    // As in watchpoints.cpp, as are the kinds above: what was seen, and that an object is watched.
    private static final int USED = 1;
    private static final int PRINTED = 2;
    private static final int LOST = 4;
    private static final int IS_ARMED = 0;

    /** How many registers are in use; while none is, nobody has to say which reads are no use. */
    private static final AtomicInteger armed = new AtomicInteger();

    private final Options options;
    private final ClassLayouts layouts;
    private final DataClass.Known dataClasses;
    private final Lifetimes lifetimes;
    private Offsets offsets;
    private PrintsAndCopies printsAndCopies;
    private final ClassValue<Readiness> readiness = new ClassValue<>() {
        @Override
        protected Readiness computeValue(Class<?> type) {
            return new Readiness();
        }
    };
    /** Where classes come faster than they can be prepared, the last ones are still in use; those that are not may go. */
    private final BlockingDeque<Reference<Class<?>>> toPrepare = new LinkedBlockingDeque<>(MOST_TO_PREPARE);
    /** How many classes wait to be prepared: until they are, their texts may have what is watched of others. */
    private final AtomicInteger unprepared = new AtomicInteger();
    /** Whom each register serves; null: nobody. */
    private final AtomicReferenceArray<Sample> served = new AtomicReferenceArray<>(REGISTERS);
    /** What is watched, or was read already, until its request is over, by identity; of two of the same hash one. */
    private final Map<Integer, Sample> samples = new ConcurrentHashMap<>();
    /** Until when no register is aimed, as the program cannot have used the processor time before that pays for it. */
    private long restUntil = System.nanoTime();
    private boolean saidThatNoneAreTold;
    private final LongAdder registersBusy = new LongAdder();
    private final LongAdder unseen = new LongAdder();

    Watchpoints(Options options, ClassLayouts layouts, Lifetimes lifetimes) {
        this.options = options;
        this.layouts = layouts;
        this.lifetimes = lifetimes;
        dataClasses = new DataClass.Known(layouts);
    }

    /** @return null, or a sentence that says why there are no registers */
    String start(Instrumentation instrumentation, ParameterNames names) {
        try {
            offsets = new Offsets();
            String missing = open(
                    isCollector("ZGC", "Shenandoah"), isCollector("ZGC", "Shenandoah", "G1"), options.aimingShare);
            printsAndCopies = missing == null ? new PrintsAndCopies(instrumentation, names, layouts) : null;
            return missing;
        } catch (ReflectiveOperationException | LinkageError cause) {
            return cause.toString();
        }
    }

    private static boolean isCollector(String... names) {
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            for (String name : names) {
                if (collector.getName().startsWith(name)) {
                    return true;
                }
            }
        }
        return false;
    }

    @Override
    public String name() {
        return "watchpoints";
    }

    @Override
    public DataClass dataClass(Class<?> type) {
        return dataClasses.of(type);
    }

    @Override
    public void tellNotWatched(Json json) {
        if (!saidThatNoneAreTold && !areTold()) {
            saidThatNoneAreTold = true;
            System.err.println("slowpath: reads are not seen any more: the program has taken SIGTRAP for itself (hint: "
                    + "backend=mask)");
        }
        json.with("registers_busy", registersBusy.sum()).with("reads_unseen", unseen.sum());
    }

    /** The calling thread begins reads of this kind. @return for {@link #endReads} */
    static int beginReads(int kind) {
        return armed.get() > 0 ? beginQuiet(kind) : -1;
    }

    static void endReads(int place) {
        if (place >= 0) {
            endQuiet(place);
        }
    }

    @Override
    public boolean print(Object object, Object other, boolean isText) {
        // Which thread reads, the system's threads tell, and a virtual one that waits goes on on another of them.
        if (ThreadState.isVirtual()) {
            censor(object);
            censor(other);
            return false;
        }
        // One that is watched may be part of another one of a class whose objects arrive, and its text has what that has.
        return isText && armed.get() > 0 && readiness.get(object.getClass()).isReady
                || isServed(object) || isServed(other);
    }

    @Override
    public void copy(Object object) {
        censor(object); // The copying itself is no read.
    }

    /** What a message tells of a field other fields know, which no register watches. */
    void readPresence(Object message, int field) {
        Sample sample = sample(message);
        ThreadState thread = ThreadState.current();
        if (sample != null && sample.field == field && !thread.isUncounted()) {
            if (thread.isPrinting()) {
                sample.isPresencePrinted = true;
            } else {
                sample.isPresenceUsed = true;
            }
        }
    }

    /** Of an object, should it be watched, or was it read already, nobody can say any more what is read of it. */
    private void censor(Object object) {
        Sample sample = sample(object);
        if (sample != null) {
            sample.isCensored = true;
            free(sample);
        }
    }

    /** Null: it is not watched. */
    private Sample sample(Object object) {
        Sample sample = object == null || samples.isEmpty() ? null : samples.get(System.identityHashCode(object));
        return sample != null && sample.object.get() == object ? sample : null;
    }

    /** Whether a register is aimed at it. */
    private boolean isServed(Object object) {
        if (object != null && armed.get() > 0) {
            for (int register = 0; register < REGISTERS; register++) {
                Sample sample = served.get(register);
                if (sample != null && sample.object.get() == object) {
                    return true;
                }
            }
        }
        return false;
    }

    @Override
    public void watch(Object object, int weight, DataClass type, Row row, List<Lifetimes.Sample> ofRequest) {
        Readiness ready = readiness.get(object.getClass());
        if (ready.isReady) {
            Runnable measuring = unprepared.get() > 0 ? null : arm(object, weight, type, row, ofRequest);
            if (measuring != null) {
                measuring.run(); // Without our lock, for which others would wait.
            }
        } else if (ready.isRefused) {
            unseen.increment();
        } else if (ready.isAsked.compareAndSet(false, true)) {
            unprepared.incrementAndGet();
            if (!toPrepare.offerFirst(new WeakReference<>(object.getClass()))) {
                unprepared.decrementAndGet();
                ready.isAsked.set(false); // When the next one arrives, there may be room.
            }
        }
    }

    /** @return what measures the values of its fields; null: it is not watched */
    private synchronized Runnable arm(
            Object object, int weight, DataClass type, Row row, List<Lifetimes.Sample> ofRequest) {
        long now = System.nanoTime();
        // Who touches a field that two registers watch is told of but once.
        int register = !samples.containsKey(System.identityHashCode(object)) && isPaid(now) ? freeRegister(now) : -1;
        int field = register < 0 ? -1 : row.shortField(options.samples);
        if (field < 0) {
            registersBusy.increment();
            return null;
        }
        Object[] values = type.values(object);
        Field watched = type.fields.get(field);
        long offset = offsets.of(watched);
        Sample sample = new Sample(object, weight, row, field);
        row.arm(sample.chosen);
        lifetimes.add(sample, ofRequest);
        samples.put(sample.hash, sample);
        armed.incrementAndGet();
        served.set(register, sample);
        int outcome = arm(register, object, offset, offsets.bytes(watched), !watched.getType().isPrimitive());
        if (outcome == IS_ARMED) {
            sample.register = register;
        } else {
            served.set(register, null);
            armed.decrementAndGet();
            sample.seen = LOST;
        }
        return () -> row.measure(sample.chosen, values);
    }

    /** Whether another register may be aimed, however much that costs, as it does with many threads. */
    private boolean isPaid(long now) {
        if (now - restUntil < 0) {
            return false; // Asking the clock costs less than asking for processor time.
        }
        long missing = missingNanos();
        restUntil = now + Math.max(0, missing) / Runtime.getRuntime().availableProcessors();
        return missing <= 0;
    }

    /** One that nobody needs any more; -1: none. */
    private int freeRegister(long now) {
        for (int register = 0; register < REGISTERS; register++) {
            Sample sample = served.get(register);
            if (sample != null && isDone(register)) {
                free(sample);
            } else if (sample != null && now - sample.begun > LONGEST_NANOS) {
                lifetimes.giveUp(sample);
            }
            if (served.get(register) == null) {
                return register;
            }
        }
        return -1;
    }

    private synchronized void free(Sample sample) {
        if (sample.register >= 0) {
            sample.seen = release(sample.register);
            served.set(sample.register, null);
            armed.decrementAndGet();
            sample.register = -1;
        }
    }

    /** Has classes whose first objects have arrived say when these are printed and copied; as many as take no long time. */
    void prepare() {
        long begin = System.nanoTime();
        for (Reference<Class<?>> next = toPrepare.poll(); next != null;
                next = System.nanoTime() - begin < LONGEST_PREPARING_NANOS ? toPrepare.poll() : null) {
            try {
                Class<?> type = next.get();
                if (type != null) {
                    Readiness ready = readiness.get(type);
                    ready.isReady = printsAndCopies.follow(type);
                    ready.isRefused = !ready.isReady;
                }
            } finally {
                unprepared.decrementAndGet();
            }
        }
    }

    /** Whether objects of a class may be watched. */
    private static final class Readiness {
        private final AtomicBoolean isAsked = new AtomicBoolean();
        private volatile boolean isReady;
        private volatile boolean isRefused;
    }

    private final class Sample extends Lifetimes.Sample implements Seen {
        private final WeakReference<Object> object;
        private final int hash;
        private final Row.Chosen chosen;
        private final Row row;
        private final int field;
        private final int givenUpBefore = givenUp();
        private int register = -1;
        private int seen;
        private volatile boolean isCensored;
        private volatile boolean isPresenceUsed;
        private volatile boolean isPresencePrinted;
        private boolean isStopped;
        private boolean isTooLong;

        Sample(Object object, int weight, Row row, int field) {
            super(object, lifetimes);
            chosen = new Row.Chosen(this, weight);
            this.object = new WeakReference<>(object);
            hash = System.identityHashCode(object);
            this.row = row;
            this.field = field;
        }

        @Override
        void requestEnded() {
            stop();
        }

        @Override
        void end(boolean isDead) {
            stop();
            if ((seen & LOST) != 0) {
                row.lose(chosen);
            } else {
                row.decide(chosen, isDead && !isTooLong);
            }
        }

        /** Once, and before anybody asks what was seen: its request may be over and it be found dead at the same time. */
        private void stop() {
            synchronized (Watchpoints.this) {
                if (!isStopped) {
                    isStopped = true;
                    samples.remove(hash);
                    free(this);
                    // Read before or not: who was not might have been lost.
                    seen |= givenUp() == givenUpBefore ? 0 : LOST;
                    // Whether it was read meanwhile or not.
                    isTooLong = System.nanoTime() - begun > LONGEST_NANOS;
                }
            }
        }

        @Override
        public boolean isWatched(int ofObject) {
            return ofObject == field;
        }

        @Override
        public boolean isUsed(int ofObject) {
            return (seen & USED) != 0 || isPresenceUsed;
        }

        @Override
        public boolean isPrinted(int ofObject) {
            return (seen & PRINTED) != 0 || isPresencePrinted;
        }

        @Override
        public boolean isCopied() {
            return isCensored;
        }
    }

    /**
     * @param concurrent whether objects move while the program runs
     * @param barriers whether who replaces a reference may read it before, for the collector
     * @param share of the program's processor time that may be spent on aiming
     * @return null, or why nothing can be watched
     */
    private static native String open(boolean concurrent, boolean barriers, double share);

    private static native int arm(int register, Object object, long offset, int bytes, boolean isReference);

    /** How much processor time the program has to use before one more object may be watched; 0 or less: it may. */
    private static native long missingNanos();

    /** Whether the signal still comes here by which the kernel interrupts who touches a field. */
    private static native boolean areTold();

    /** How often all that was watched was lost. */
    private static native int givenUp();

    private static native boolean isDone(int register);

    private static native int release(int register);

    private static native int beginQuiet(int kind);

    private static native void endQuiet(int place);
}
