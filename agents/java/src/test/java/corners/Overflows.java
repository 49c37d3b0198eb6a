/*
 * Receives an object at each depth of a stack until that overflows, which happens in the agent, too, and one after
 * each time.
 *   java corners.Overflows TIMES
 */
package corners;

public final class Overflows {
    static final class Item {
        int number = 1;
    }

    static volatile Object sink;

    private Overflows() {}

    static Item fetch() {
        return new Item();
    }

    private static void deeper() {
        sink = fetch();
        deeper();
    }

    private static void overflow() {
        try {
            deeper();
        } catch (StackOverflowError cause) {
            sink = cause;
        }
    }

    static Item fetchAfter() {
        return new Item();
    }

    public static void main(String[] arguments) throws InterruptedException {
        int most = Integer.parseInt(arguments[0]);
        Thread small = new Thread(null, () -> {
            sink = fetch(); // The agent's classes are loaded.
            for (int time = 0; time < most; time++) {
                overflow();
                sink = fetchAfter();
            }
        }, "small", 256 << 10);
        small.start();
        small.join();
    }
}
