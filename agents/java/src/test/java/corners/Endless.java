/*
 * Makes the text of what refers to itself, and of an object at each depth of a stack: both overflow, some in the midst of
 * a toString; and of what asks others in it. Reads objects that it has received before and after that; its thread serves no request.
 *   java corners.Endless TIMES
 */
package corners;

public final class Endless {
    static final class Cycle {
        int number = 1;
        Cycle next = this;

        @Override
        public String toString() {
            return "Cycle(" + number + ", " + next + ")";
        }
    }

    static final class Printed {
        int number = 1;

        @Override
        public String toString() {
            return "Printed(" + number + ")";
        }
    }

    static final class Asking {
        int number = 1;

        @Override
        public String toString() {
            return fetch("Asking(") + number + ")";
        }
    }

    static final class Before {
        int number = 1;
    }

    static final class After {
        int number = 1;
    }

    static volatile Object sink;

    private Endless() {}

    static <T> T fetch(T received) {
        return received;
    }

    private static void printDeeper(Printed printed) {
        sink = printed.toString();
        printDeeper(printed);
    }

    private static void overflow(Runnable work) {
        try {
            work.run();
        } catch (StackOverflowError cause) {
            sink = cause;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        int times = Integer.parseInt(arguments[0]);
        Thread small = new Thread(null, () -> {
            for (int time = 0; time < times; time++) {
                sink = fetch(new Asking()).toString();
                Before before = fetch(new Before());
                overflow(fetch(new Cycle())::toString);
                sink = before.number;
                Printed printed = fetch(new Printed());
                overflow(() -> printDeeper(printed));
                sink = fetch(new After()).number;
            }
        }, "small", 256 << 10);
        small.start();
        small.join();
        sink = null;
        for (int collection = 0; collection < 4; collection++) {
            System.gc();
            Thread.sleep(200);
        }
    }
}
