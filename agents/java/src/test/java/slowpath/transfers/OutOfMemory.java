/*
 * Has the first reports run out of memory, as does what tells of that; ends when there is one all the same.
 *   java slowpath.transfers.OutOfMemory REPORT
 */
package slowpath.transfers;

import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

public final class OutOfMemory {
    private OutOfMemory() {}

    public static void main(String[] arguments) throws Exception {
        Path file = Path.of(arguments[0]);
        Options options = Options.parse("report-every=0.1");
        Lifetimes lifetimes = new Lifetimes();
        AtomicInteger asked = new AtomicInteger();
        Backend backend = (Backend) Proxy.newProxyInstance(
                OutOfMemory.class.getClassLoader(), new Class<?>[] {Backend.class}, (proxy, method, values) -> {
                    if (method.getName().equals("tellNotWatched") && asked.incrementAndGet() <= 3) {
                        throw new Missing();
                    }
                    return method.getReturnType() == String.class ? "none" : null;
                });
        new Report(file, options, new Transfers(options, backend, lifetimes, null), backend, lifetimes,
                new CallPaths(options, false), Set.of()).start();
        for (int tenths = 0; tenths < 100 && !Files.exists(file); tenths++) {
            Thread.sleep(100);
        }
        System.out.println(Files.exists(file) + " after " + Math.min(asked.get(), 4));
        Runtime.getRuntime().halt(0); // The report at the end is another matter.
    }

    private static final class Missing extends OutOfMemoryError {
        @Override
        public String toString() {
            throw new OutOfMemoryError();
        }
    }
}
