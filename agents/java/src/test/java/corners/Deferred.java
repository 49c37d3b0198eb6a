/*
 * Objects that a request receives and another thread reads when the servlet has returned, as the request is asynchronous.
 *   java corners.Deferred SECONDS
 */
package corners;

import jakarta.servlet.ServletRequest;
import jakarta.servlet.http.HttpServlet;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

public final class Deferred {
    private static final ScheduledExecutorService LATER = Executors.newSingleThreadScheduledExecutor();

    static class Item {
        int read = 1;
        int never = 2;
    }

    static volatile Object sink;

    private Deferred() {}

    static Item fetch() {
        return new Item();
    }

    private static Object serve() {
        Item item = fetch();
        LATER.schedule(() -> sink = item.read, 20, TimeUnit.MILLISECONDS);
        return null;
    }

    public static void main(String[] arguments) throws Exception {
        HttpServlet servlet = new HttpServlet(Deferred::serve);
        ServletRequest asynchronous = () -> true;
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000_000L;
        for (int request = 0; System.nanoTime() < end; request++) {
            servlet.service(asynchronous);
            Thread.sleep(1);
            if (request % 100 == 0) {
                System.gc();
            }
        }
        LATER.shutdown();
        LATER.awaitTermination(1, TimeUnit.SECONDS);
        for (int collection = 0; collection < 2; collection++) {
            System.gc();
            Thread.sleep(300);
        }
    }
}
