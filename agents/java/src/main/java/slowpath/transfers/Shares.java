/*
 * Which responses have their call path looked for: all, or where more arrive than so many a second, one of so many, by
 * chance, which stands for the others, too. So the count of a place stays true on average, however many arrive.
 */
package slowpath.transfers;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

final class Shares {
    private static final long SECOND = 1_000_000_000L;

    private final LongAdder arrived = new LongAdder();
    private final AtomicLong begin = new AtomicLong(System.nanoTime());
    private volatile int oneOf = 1;

    /**
     * For how many responses the one that arrives now stands; 0: for none, as another does for it.
     * @param perSecond how many suffice, as a rule: what a second brings is known at its end
     */
    int next(int perSecond) {
        arrived.increment();
        long now = System.nanoTime();
        long before = begin.get();
        if (now - before >= SECOND && begin.compareAndSet(before, now)) {
            double inSecond = (double) arrived.sumThenReset() * SECOND / (now - before);
            oneOf = (int) Math.max(1, Math.ceil(inSecond / perSecond));
        }
        int standsFor = oneOf;
        return standsFor == 1 || ThreadLocalRandom.current().nextInt(standsFor) == 0 ? standsFor : 0;
    }
}
