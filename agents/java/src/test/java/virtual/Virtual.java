/*
 * Virtual threads whose toString waits, so that others run on the same threads of the system meanwhile: `read` is used of
 * each object, `printed` by toString alone. Needs Java 21. Ends after so many seconds.
 *   java virtual.Virtual SECONDS
 */
package virtual;

import jakarta.servlet.http.HttpServlet;
import java.util.ArrayList;
import java.util.List;

public final class Virtual {
    private static final int THREADS = 8;

    static class Item {
        String read = "r";
        String printed = "p";
        String never = "n";

        @Override
        public String toString() {
            try {
                Thread.sleep(1);
            } catch (InterruptedException cause) {
                Thread.currentThread().interrupt();
            }
            return printed;
        }
    }

    static volatile Object sink;

    private Virtual() {}

    static Item fetch() {
        return new Item();
    }

    private static Object serve() {
        Item item = fetch();
        sink = item.read;
        // One half is printed.
        sink = item.hashCode() % 2 == 0 ? item.toString() : item;
        return null;
    }

    private static Thread start(Runnable work) throws ReflectiveOperationException {
        return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
    }

    public static void main(String[] arguments) throws Exception {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000_000L;
        HttpServlet servlet = new HttpServlet(Virtual::serve);
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < THREADS; number++) {
            threads.add(start(() -> {
                while (System.nanoTime() < end) {
                    try {
                        servlet.service(null);
                        Thread.sleep(1);
                    } catch (Exception cause) {
                        cause.printStackTrace();
                    }
                }
            }));
        }
        while (System.nanoTime() < end) {
            System.gc();
            Thread.sleep(50);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.gc();
        Thread.sleep(500);
    }
}
