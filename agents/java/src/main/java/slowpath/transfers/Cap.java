/*
 * Which of what arrives is chosen, of at most so many a second: each is as likely as the others of its second. Were it the
 * first ones, the calls that a loop begins with would stand for all of them. How many come is expected from the
 * seconds before; of what comes beyond that and a quarter more, and of the first second, it is the first ones.
 */
package slowpath.transfers;

import java.util.concurrent.ThreadLocalRandom;

final class Cap {
    private static final long SECOND = 1_000_000_000L;

    /** The second that has begun with what arrived then, as nothing may come for long. */
    private long begin = System.nanoTime();
    private int arrived;
    private int chosen;
    /** As many may come in a second. */
    private int expected;

    /** By selection sampling (Knuth, The Art of Computer Programming 3.4.2, algorithm S). */
    synchronized boolean isWithin(int perSecond) {
        long now = System.nanoTime();
        if (now - begin >= SECOND) {
            expected = Math.max(arrived + arrived / 4, expected - (expected + 15) / 16);
            begin = now;
            arrived = 0;
            chosen = 0;
        }
        int left = expected - arrived++;
        boolean isChosen = chosen < perSecond
                && (left <= perSecond - chosen || ThreadLocalRandom.current().nextInt(left) < perSecond - chosen);
        chosen += isChosen ? 1 : 0;
        return isChosen;
    }
}
