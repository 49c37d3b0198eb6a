/*
 * Objects of which some fields are read. The test renames others in the class files so that several have one name, as
 * obfuscators do: types tell them apart.
 *   java corners.Homonyms OBJECTS
 */
package corners;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;

public final class Homonyms {
    static class Base {
        int inherited = 1;
        int byHandle = 2;
    }

    static final class Item extends Base {
        String aField = "read";
        /** Becomes `aField`. */
        int bField = 3;
        /** Becomes `inherited`. */
        String inheriter = "never";
        /** Becomes `byHandle`. */
        String asHandle = "never";
    }

    static volatile Object sink;

    private Homonyms() {}

    static Item fetch() {
        return new Item();
    }

    public static void main(String[] arguments) throws Throwable {
        MethodHandle byHandle = MethodHandles.lookup().findGetter(Item.class, "byHandle", int.class);
        for (int object = Integer.parseInt(arguments[0]); object > 0; object--) {
            Item item = fetch();
            sink = item.aField;
            sink = item.inherited;
            sink = (int) byHandle.invokeExact(item);
        }
        for (int collection = 0; collection < 2; collection++) {
            System.gc();
            Thread.sleep(300);
        }
    }
}
