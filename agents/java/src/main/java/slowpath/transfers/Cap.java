/*
 * Which of what arrives is chosen, of at most so many a second: each is as likely as the others of its second, by what came in
 * the seconds before. Were it the first ones, the calls that a loop begins with would stand for all of them.
 */
package slowpath.transfers;

import java.util.concurrent.ThreadLocalRandom;

final class Cap {
    private static final long SECOND = 1_000_000_000L;

    /** The second that has begun with what arrived then, as nothing may come for long. */
    private long begin = System.nanoTime();
    private int arrived;
    private int chosen;
    /** As many are expected in a second; soon fewer where fewer come, more at once. */
    private int expected;

    synchronized boolean isWithin(int perSecond) {
        long now = System.nanoTime();
        if (now - begin >= SECOND) {
            expected = Math.max(arrived, expected / 2);
            begin = now;
            arrived = 0;
            chosen = 0;
        }
        arrived++;
        boolean isChosen = chosen < perSecond
                && (expected <= perSecond || ThreadLocalRandom.current().nextInt(expected) < perSecond);
        chosen += isChosen ? 1 : 0;
        return isChosen;
    }
}
