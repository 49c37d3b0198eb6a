/*
 * What arrives at one place of the program: over one call path, from one endpoint. Counts the responses, and
 * has a row for each class of objects that was found in those that were looked into.
 */
package slowpath.transfers;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;

final class Context {
    /** Where looking found other things so often, and nothing of the application, only one of so many is looked into. */
    private static final int FRUITLESS = 100;
    /** More classes than this only where they are generated without end. */
    private static final int MOST_ROWS = 500;

    final int number;
    /** The recording in which the number was explained last. */
    volatile int toldIn;
    final List<StackTraceElement> callPath;
    final Endpoint endpoint;
    /** Which library: "RestTemplate". */
    final String by;
    /** All of them: exactly where each stands for itself, else on average (Shares). */
    final LongAdder responses = new LongAdder();
    /** Of how far that may be off: its estimate. */
    final LongAdder variance = new LongAdder();
    /** Those that were looked into, and those of them that were too large, or of too many classes, to be seen whole. */
    final LongAdder looked = new LongAdder();
    final LongAdder tooLarge = new LongAdder();
    /** Those that held something, and nothing of the application's that travels. */
    final LongAdder fruitless = new LongAdder();
    final Map<DataClass.Shape, Row> rows = new ConcurrentHashMap<>();

    Context(int number, Key key) {
        this.number = number;
        callPath = key.callPath.elements();
        endpoint = key.endpoint;
        by = key.by;
    }

    /** One that stands for so many: each of them was as likely to. */
    void received(int standsFor) {
        responses.add(standsFor);
        variance.add((long) standsFor * (standsFor - 1));
    }

    /** Whether another response should be looked into, so that each row gets the samples that suffice. */
    boolean isShort(int samples) {
        if (rows.isEmpty()) {
            return fruitless.sum() < FRUITLESS || ThreadLocalRandom.current().nextInt(FRUITLESS) == 0;
        }
        for (Row row : rows.values()) {
            if (row.isShort(samples)) {
                return true;
            }
        }
        return false;
    }

    /** Null: there are too many. */
    Row row(DataClass type) {
        Row row = rows.get(type.shape);
        return row != null || rows.size() >= MOST_ROWS ? row
                : rows.computeIfAbsent(type.shape, shape -> new Row(shape, endpoint.encoding));
    }

    static final class Key {
        private final CallPath callPath;
        private final Endpoint endpoint;
        private final String by;

        Key(CallPath callPath, Endpoint endpoint, String by) {
            this.callPath = callPath;
            this.endpoint = endpoint;
            this.by = by;
        }

        @Override
        public int hashCode() {
            return 31 * callPath.hashCode() + endpoint.hashCode();
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Key && callPath.equals(((Key) other).callPath)
                    && endpoint.equals(((Key) other).endpoint) && Objects.equals(by, ((Key) other).by);
        }
    }
}
