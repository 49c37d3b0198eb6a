/*
 * Objects of a class of the application that extends one of a library, which extends one of the application again. The
 * test says which one is the library's.
 *   java corners.Between OBJECTS
 */
package corners;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;

public final class Between {
    static class Base {
        int inherited = 1;
        int inheritedNever = 2;
        int byHandle = 6;
    }

    static class Library extends Base {
        int ofLibrary = 3;

        int inside() {
            return inherited + ofLibrary;
        }
    }

    static final class Item extends Library {
        int read = 4;
        int never = 5;
    }

    static volatile Object sink;

    private Between() {}

    static Item fetch() {
        return new Item();
    }

    public static void main(String[] arguments) throws Throwable {
        MethodHandle getter = MethodHandles.lookup().findGetter(Library.class, "byHandle", int.class);
        for (int object = Integer.parseInt(arguments[0]); object > 0; object--) {
            Item item = fetch();
            sink = item.read + item.inside() + (int) getter.invoke((Library) item);
        }
        for (int collection = 0; collection < 2; collection++) {
            System.gc();
            Thread.sleep(300);
        }
    }
}
