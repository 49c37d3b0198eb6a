/*
 * The backend that needs nothing of the machine: classes are rewritten when they are loaded, so that each object
 * can have a Watched beside it, in which reads of fields leave their mark. What was not read of an object counts
 * as unused only when the object is dead: when the collector has found that nothing can read it any more. An
 * object that outlives the request that received it, by two collections, has escaped: it is censored.
 */
package slowpath.transfers;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

final class FieldMask {
    private static final int MOST_WATCHED = 10_000;
    /** Where no end of a request is known, an object that lives so long is censored. */
    private static final long LONGEST_NANOS = 600_000_000_000L;
    private static final long QUIET_MILLIS = 100;

    /** Objects that were not watched, as too many are, and as reads of their class might be missed. */
    final LongAdder tooMany = new LongAdder();
    final LongAdder unseen = new LongAdder();

    private final ClassLayouts layouts;
    private final ClassValue<DataClass[]> dataClasses = new ClassValue<>() {
        @Override
        protected DataClass[] computeValue(Class<?> type) {
            return new DataClass[] {DataClass.of(type, layouts)};
        }
    };
    private final ReferenceQueue<Object> dead = new ReferenceQueue<>();
    private final Set<Sample> samples = ConcurrentHashMap.newKeySet();
    private final AtomicInteger watched = new AtomicInteger();
    /** Each collection that is noticed begins another; see {@link Collection}. */
    private volatile long epoch;
    private Collection next;

    FieldMask(ClassLayouts layouts) {
        this.layouts = layouts;
    }

    /** Null: the class is none whose objects can be watched. */
    DataClass dataClass(Class<?> type) {
        return dataClasses.get(type)[0];
    }

    /** From now on reads of fields of this class may be missed: no more of its objects are watched. */
    void missReadsOf(Class<?> type) {
        layouts.missReadsOf(type.getName().replace('.', '/'));
    }

    int watchedNow() {
        return watched.get();
    }

    /** @param ofRequest where to remember it until the request ends that the thread serves; null: there is none */
    void watch(Object object, DataClass type, Row row, List<Sample> ofRequest) {
        Watchable watchable = (Watchable) object;
        if (watchable.slowpath$watched() != null) {
            return;
        }
        if (!layouts.isSeen(object.getClass())) {
            unseen.increment();
            return;
        }
        if (watched.incrementAndGet() > MOST_WATCHED) {
            watched.decrementAndGet();
            tooMany.increment();
            return;
        }
        Object[] values = type.values(object);
        Watched marks = new Watched(values.length);
        Sample sample = new Sample(object, dead, marks, row);
        samples.add(sample);
        row.arm(values);
        watchable.slowpath$watch(marks);
        if (ofRequest != null) {
            sample.inRequest = true;
            ofRequest.add(sample);
        }
    }

    void requestEnded(List<Sample> ofRequest) {
        for (Sample sample : ofRequest) {
            sample.endedIn = epoch;
        }
    }

    void start() {
        next = new Collection(dead);
        Thread thread = new Thread(this::decide, "slowpath-transfers");
        thread.setDaemon(true);
        thread.start();
    }

    private void decide() {
        long looked = epoch;
        while (true) {
            try {
                NativeEvents.look();
                Reference<?> gone = dead.remove(QUIET_MILLIS);
                if (gone instanceof Sample) {
                    end((Sample) gone, true);
                } else if (gone == next) {
                    next = new Collection(dead);
                    epoch++;
                } else if (gone == null && looked != epoch) {
                    // Nothing more comes out of the last collection: what is alive now, was alive in it.
                    looked = epoch;
                    censorEscaped();
                }
            } catch (InterruptedException cause) {
                return;
            }
        }
    }

    private void censorEscaped() {
        long now = System.nanoTime();
        for (Sample sample : samples) {
            long ended = sample.endedIn;
            // The first collection after the request may have begun before its end; the second has not.
            if (ended >= 0 ? epoch >= ended + 2 : !sample.inRequest && now - sample.begun > LONGEST_NANOS) {
                end(sample, false);
            }
        }
    }

    private void end(Sample sample, boolean isDead) {
        if (samples.remove(sample)) {
            sample.clear();
            watched.decrementAndGet();
            sample.row.decide(sample.marks, isDead);
        }
    }

    /** An object that is watched. */
    static final class Sample extends PhantomReference<Object> {
        private final Watched marks;
        private final Row row;
        private final long begun = System.nanoTime();
        private boolean inRequest;
        /** The epoch in which its request ended; -1: none did. */
        private volatile long endedIn = -1;

        Sample(Object object, ReferenceQueue<Object> queue, Watched marks, Row row) {
            super(object, queue);
            this.marks = marks;
            this.row = row;
        }
    }

    /** Comes out of the queue after a collection that began when this existed: its object is dead from the start. */
    private static final class Collection extends PhantomReference<Object> {
        Collection(ReferenceQueue<Object> queue) {
            super(new Object(), queue);
        }
    }
}
