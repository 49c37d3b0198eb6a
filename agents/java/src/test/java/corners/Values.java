/*
 * "Remote" objects of classes that look like something else: one whose toString is that of a class of the application
 * without fields, which is all that is read of it; one that is a number; many with values of Java's own. And what the JVM
 * says of a field of nothing.
 *   java corners.Values RESPONSES
 */
package corners;

import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.UUID;

public final class Values {
    static final int OF_A_LIST = 600;

    abstract static class Told {
        abstract String text();

        @Override
        public String toString() {
            return "told: " + text();
        }
    }

    static class Logged extends Told {
        String name = "name";

        @Override
        String text() {
            return name;
        }
    }

    static class Money extends Number {
        int cents = 100;
        String never = "never";

        @Override
        public int intValue() {
            return cents;
        }

        @Override
        public long longValue() {
            return cents;
        }

        @Override
        public float floatValue() {
            return cents;
        }

        @Override
        public double doubleValue() {
            return cents;
        }
    }

    static class Stop {
        UUID id = new UUID(1, 2);
        LocalDate day = LocalDate.EPOCH;
        Instant arrival = Instant.EPOCH;
        Date departure = new Date(0);
        Stop next;

        static String nextOf(Stop stop) {
            return String.valueOf(stop.next);
        }
    }

    static volatile Object sink;

    private Values() {}

    static Object fetch(Object answer) {
        return answer;
    }

    static Object stops() {
        List<Stop> stops = new ArrayList<>();
        for (int stop = 0; stop < OF_A_LIST; stop++) {
            stops.add(new Stop());
        }
        return stops;
    }

    public static void main(String[] arguments) throws InterruptedException {
        for (int response = Integer.parseInt(arguments[0]); response > 0; response--) {
            sink = "got " + fetch(new Logged());
            sink = ((Money) fetch(new Money())).intValue();
            sink = fetch(stops());
        }
        sink = null;
        for (int collection = 0; collection < 2; collection++) {
            System.gc();
            Thread.sleep(300);
        }
        try {
            Stop.nextOf(null);
        } catch (NullPointerException cause) {
            System.out.println(cause.getMessage());
        }
    }
}
