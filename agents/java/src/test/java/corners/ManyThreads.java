/*
 * Many threads that do nothing, for each of which aiming a register costs time, and objects that a collection moves in the
 * middle of their request: `before` is read before that, `after` behind it.
 *   java corners.ManyThreads THREADS REQUESTS
 */
package corners;

import jakarta.servlet.http.HttpServlet;

public final class ManyThreads {
    static class Item {
        String before = "b";
        String after = "a";
    }

    static volatile Object sink;

    private ManyThreads() {}

    static Item fetch() {
        return new Item();
    }

    private static Object serve() {
        Item item = fetch();
        sink = item.before;
        System.gc();
        sink = item.after;
        return null;
    }

    public static void main(String[] arguments) throws Exception {
        for (int number = Integer.parseInt(arguments[0]); number > 0; number--) {
            Thread idle = new Thread(() -> {
                try {
                    Thread.sleep(Long.MAX_VALUE);
                } catch (InterruptedException cause) {
                    // It is over.
                }
            });
            idle.setDaemon(true);
            idle.start();
        }
        HttpServlet servlet = new HttpServlet(ManyThreads::serve);
        for (int request = Integer.parseInt(arguments[1]); request > 0; request--) {
            servlet.service(null);
        }
        System.gc();
        Thread.sleep(500);
    }
}
