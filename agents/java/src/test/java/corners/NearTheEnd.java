/*
 * Receives its first object so many frames before its stack overflows, or loads there the class that reads these and has
 * received one before; then receives so many more, each of which is read.
 *   java corners.NearTheEnd receive|load FRAMES LATER
 */
package corners;

public final class NearTheEnd {
    static final class Item {
        int number = 1;
    }

    static final class Reader {
        static int numberOf(Item item) {
            return item.number;
        }
    }

    static volatile Object sink;
    private static Item early;
    private static int left;

    private NearTheEnd() {}

    static Item fetch() {
        return new Item();
    }

    private static void call(int frames, Runnable last) {
        left = frames;
        if (frames == 0) {
            last.run();
        } else {
            call(frames - 1, last);
        }
    }

    private static void callNearTheEnd(int frames, Runnable last) {
        overflow(Integer.MAX_VALUE, last);
        overflow(Integer.MAX_VALUE - left - frames, last);
    }

    private static void overflow(int frames, Runnable last) {
        try {
            call(frames, last);
        } catch (StackOverflowError cause) {
            sink = cause;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        early = new Item();
        Runnable last = () -> sink = fetch();
        if (arguments[0].equals("load")) {
            early = fetch();
            last = () -> sink = Reader.numberOf(early);
        }
        Runnable atTheEnd = last;
        Thread small = new Thread(
                null, () -> callNearTheEnd(Integer.parseInt(arguments[1]), atTheEnd), "small", 256 << 10);
        small.start();
        small.join();
        for (int response = Integer.parseInt(arguments[2]); response > 0; response--) {
            sink = Reader.numberOf(fetch());
        }
        early = null;
        sink = null;
        for (int collection = 0; collection < 2; collection++) {
            System.gc();
            Thread.sleep(200);
        }
        System.out.println("received " + arguments[2]);
    }
}
