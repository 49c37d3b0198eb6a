/*
 * Objects that arrive twice while they are watched, in two contexts, and of which the only field is read afterwards, each
 * in a request of its own.
 *   java corners.Twice OBJECTS
 */
package corners;

import jakarta.servlet.http.HttpServlet;

public final class Twice {
    static class Item {
        int read = 1;
    }

    static volatile Object sink;

    private Twice() {}

    static Item fetch() {
        return new Item();
    }

    static Item pass(Item item) {
        return item;
    }

    private static Object serve() {
        Item item = pass(fetch());
        sink = item.read;
        return null;
    }

    public static void main(String[] arguments) throws Exception {
        HttpServlet servlet = new HttpServlet(Twice::serve);
        for (int object = 0; object < Integer.parseInt(arguments[0]); object++) {
            servlet.service(null);
            Thread.sleep(1);
        }
        System.gc();
        Thread.sleep(500);
    }
}
