/*
 * Finds out what became of watched objects. What was not read of an object counts as unused only when the object is
 * dead: when the collector has found that nothing can read it any more. An object that outlives the request that received
 * it, by two collections, has escaped.
 */
package slowpath.transfers;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

final class Lifetimes {
    /** Objects of which it could not be said what became of them. To count them takes no memory, which may be what lacks. */
    final AtomicLong failures = new AtomicLong();

    private static final long QUIET_MILLIS = 100;
    /** Where no end of a request is known, an object that lives so long has escaped. */
    private static final long LONGEST_NANOS = 600_000_000_000L;

    private final ReferenceQueue<Object> dead = new ReferenceQueue<>();
    private final Set<Sample> samples = ConcurrentHashMap.newKeySet();
    /** Each collection that is noticed begins another; see {@link Collection}. */
    private volatile long epoch;
    /** Null: the last one is over. */
    private Collection next;

    int watchedNow() {
        return samples.size();
    }

    /** @param ofRequest as in {@link Backend#watch} */
    void add(Sample sample, List<Sample> ofRequest) {
        samples.add(sample);
        if (ofRequest != null) {
            sample.inRequest = true;
            ofRequest.add(sample);
        }
    }

    void requestEnded(List<Sample> ofRequest) {
        for (Sample sample : ofRequest) {
            sample.requestEnded();
            sample.endedIn = epoch;
        }
    }

    /** Where and when it ends, nobody will say. */
    void requestGoesOn(List<Sample> ofRequest) {
        for (Sample sample : ofRequest) {
            sample.inRequest = false;
        }
    }

    /** @param often is called several times a second */
    void start(Runnable often) {
        Thread thread = new Thread(() -> decide(often), "slowpath-transfers");
        thread.setDaemon(true);
        thread.start();
    }

    private void decide(Runnable often) {
        long looked = 0;
        while (true) {
            try {
                next = next == null ? new Collection(dead) : next;
                Reference<?> gone = dead.remove(QUIET_MILLIS);
                // Where it is quiet, nothing more comes out of the last collection; else of the one before, as the JVM
                // hands over what a collection has found before it hands over what a later one has.
                long over = gone == null ? 0 : -1;
                for (; gone != null; gone = dead.poll()) {
                    if (gone instanceof Sample) {
                        end((Sample) gone, true);
                    } else if (gone == next) {
                        next = null;
                        epoch++;
                    }
                }
                over += epoch;
                if (over > looked) {
                    looked = over;
                    endEscaped(over);
                }
                NativeEvents.look();
                often.run();
            } catch (InterruptedException cause) {
                return;
            } catch (RuntimeException | Error cause) {
                failures.incrementAndGet();
            }
        }
    }

    /** @param over the last collection out of which nothing more comes: what is alive now, was alive in it */
    private void endEscaped(long over) {
        long now = System.nanoTime();
        for (Sample sample : samples) {
            long ended = sample.endedIn;
            // The first collection after the request may have begun before its end; the second has not.
            if (ended >= 0 ? over >= ended + 2 : !sample.inRequest && now - sample.begun > LONGEST_NANOS) {
                end(sample, false);
            }
        }
    }

    /** It is watched no longer, as it lives too long. */
    void giveUp(Sample sample) {
        end(sample, false);
    }

    private void end(Sample sample, boolean isDead) {
        if (samples.remove(sample)) {
            sample.clear();
            sample.end(isDead);
        }
    }

    /** An object that is watched. */
    abstract static class Sample extends PhantomReference<Object> {
        final long begun = System.nanoTime();
        private volatile boolean inRequest;
        /** The epoch in which its request ended; -1: none did. */
        private volatile long endedIn = -1;

        Sample(Object object, Lifetimes lifetimes) {
            super(object, lifetimes.dead);
        }

        /** Called on the thread that served the request. */
        void requestEnded() {}

        /** Called once, when it is dead or has escaped. */
        abstract void end(boolean isDead);
    }

    /** Comes out of the queue after a collection that began when this existed: its object is dead from the start. */
    private static final class Collection extends PhantomReference<Object> {
        Collection(ReferenceQueue<Object> queue) {
            super(new Object(), queue);
        }
    }
}
