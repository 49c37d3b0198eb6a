/*
 * Objects of which one half is read and, however that fell out, one half copied afterwards, each in a request of its own.
 * The registers are fewer than the threads, so those of objects that were read serve others before the copy is made.
 *   java corners.Halves SECONDS
 */
package corners;

import jakarta.servlet.http.HttpServlet;
import java.util.concurrent.ThreadLocalRandom;

public final class Halves {
    private static final int THREADS = 16;

    static class Item implements Cloneable {
        int half = 1;

        Item copy() throws CloneNotSupportedException {
            return (Item) super.clone();
        }
    }

    static volatile Object sink;

    private Halves() {}

    static Item fetch() {
        return new Item();
    }

    private static Object serve() throws Exception {
        Item item = fetch();
        ThreadLocalRandom chance = ThreadLocalRandom.current();
        // No choice of values, for which the compiler may read the field always.
        if (chance.nextBoolean()) {
            sink = item.half;
        }
        Thread.sleep(4);
        sink = chance.nextBoolean() ? item.copy() : item;
        return null;
    }

    public static void main(String[] arguments) throws Exception {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000_000L;
        HttpServlet servlet = new HttpServlet(Halves::serve);
        Thread[] threads = new Thread[THREADS];
        for (int number = 0; number < THREADS; number++) {
            threads[number] = new Thread(() -> {
                try {
                    while (System.nanoTime() < end) {
                        servlet.service(null);
                    }
                } catch (Exception cause) {
                    throw new IllegalStateException(cause);
                }
            });
            threads[number].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.gc();
        Thread.sleep(500);
    }
}
