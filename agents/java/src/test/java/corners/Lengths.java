/*
 * Responses of different lengths: one item whose long text is read, or many of which nothing is read, in turn.
 *   java corners.Lengths RESPONSES MANY
 */
package corners;

import java.util.ArrayList;
import java.util.List;

public final class Lengths {
    static class Item {
        final String text;

        Item(int length) {
            text = "x".repeat(length);
        }
    }

    private static final int LONG = 1000;
    static volatile Object sink;

    private Lengths() {}

    static List<Item> fetch(int items) {
        List<Item> all = new ArrayList<>();
        for (int item = 0; item < items; item++) {
            all.add(new Item(items == 1 ? LONG : 1));
        }
        return all;
    }

    public static void main(String[] arguments) throws Exception {
        int many = Integer.parseInt(arguments[1]);
        for (int response = 0; response < Integer.parseInt(arguments[0]); response++) {
            List<Item> all = fetch(response % 2 == 0 ? 1 : many);
            if (all.size() == 1) {
                sink = all.get(0).text;
            }
            if (response % 100 == 99) {
                System.gc();
                Thread.sleep(20);
            }
        }
        sink = null;
        for (int collection = 0; collection < 2; collection++) {
            System.gc();
            Thread.sleep(500);
        }
    }
}
