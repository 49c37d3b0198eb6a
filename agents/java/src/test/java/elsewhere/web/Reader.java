/*
 * Reads fields of objects of another package, which alone is said to be the application's.
 *   java elsewhere.web.Reader OBJECTS
 */
package elsewhere.web;

import elsewhere.data.Item;

public final class Reader {
    static volatile Object sink;

    private Reader() {}

    public static void main(String[] arguments) throws InterruptedException {
        for (int object = Integer.parseInt(arguments[0]); object > 0; object--) {
            Item item = Item.fetch();
            sink = item.read;
        }
        for (int collection = 0; collection < 2; collection++) {
            System.gc();
            Thread.sleep(300);
        }
    }
}
