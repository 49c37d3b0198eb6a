/*
 * Requests at a time, whose objects have a field that several threads read at once while the request waits for them, and
 * one that nobody reads.
 *   java corners.Shared REQUESTS
 */
package corners;

import jakarta.servlet.http.HttpServlet;
import java.util.Collections;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

public final class Shared {
    private static final int REQUESTS_AT_A_TIME = 6;
    private static final int READERS = 4;

    static class Item {
        long read = 1;
        long never = 2;
    }

    static volatile Object sink;

    private Shared() {}

    static Item fetch() {
        return new Item();
    }

    private static Object serve(ExecutorService readers) throws Exception {
        Item item = fetch();
        Callable<Object> reads = () -> sink = item.read;
        return readers.invokeAll(Collections.nCopies(READERS, reads));
    }

    public static void main(String[] arguments) throws Exception {
        ExecutorService readers = Executors.newFixedThreadPool(READERS);
        ExecutorService workers = Executors.newFixedThreadPool(REQUESTS_AT_A_TIME);
        HttpServlet servlet = new HttpServlet(() -> serve(readers));
        int requests = Integer.parseInt(arguments[0]);
        workers.invokeAll(Collections.nCopies(requests, () -> {
            sink = new byte[400_000]; // So that there are collections.
            return servlet.service();
        }));
        workers.shutdown();
        readers.shutdown();
        System.gc();
        Thread.sleep(500);
    }
}
