/*
 * Finds the call path of the calling thread, once for each response for which no other stands (Shares). A native library
 * asks the JVM for the instructions that called each other, which is quick, and makes a number of them; only a number
 * that is new is walked by Java (CallPath), which knows names. Without the library, Java walks each.
 */
package slowpath.transfers;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

final class CallPaths {
    /** Paths with libraries' frames; more than this only where classes are loaded anew all the time. */
    private static final int MOST_KNOWN = 20_000;

    private final Options options;
    private final Shares shares = new Shares();
    private final boolean isNative;
    private final Map<Long, CallPath> known = new ConcurrentHashMap<>();
    /** Each of them once: classes that are loaded anew have the same paths, by other numbers. */
    private final Map<CallPath, CallPath> paths = new ConcurrentHashMap<>();

    /** @param isLoaded whether the native library is */
    CallPaths(Options options, boolean isLoaded) {
        this.options = options;
        isNative = isLoaded && begin();
    }

    /** Who walks the stack now, for the report. */
    String walker() {
        return isNative && options.nativeCallPaths ? "native" : "java";
    }

    /**
     * The calling thread; null: another call stands for this one. While somebody records, each stands for itself.
     * Called by {@link Transfers#caller} alone, as the native library passes both over.
     */
    Caller here() {
        int standsFor = NativeEvents.isRecorded() ? 1
                : shares.next(Math.max(options.pathsPerSecond, options.armsPerSecond));
        if (standsFor == 0) {
            return null;
        }
        Thread current = Thread.currentThread();
        long number = isNative && options.nativeCallPaths ? number(current) : 0;
        if (number == 0) {
            return new Caller(CallPath.here(options.application, begin -> {}), standsFor);
        }
        CallPath path = known.get(number);
        if (path == null) {
            path = CallPath.here(options.application, begin -> endAt(current, begin));
            path.elements(); // From now on it keeps no class.
            if (known.size() >= MOST_KNOWN) {
                known.clear();
                paths.clear();
            }
            CallPath before = paths.putIfAbsent(path, path);
            path = before == null ? path : before;
            known.put(number, path);
        }
        return new Caller(path, standsFor);
    }

    private static native boolean begin();

    private static native long number(Thread current);

    private static native void endAt(Thread current, Class<?> type);
}
