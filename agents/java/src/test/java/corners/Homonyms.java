/*
 * Objects of which two fields are read. The test renames others in the class files so that several have one name, as
 * obfuscators do: types tell them apart.
 *   java corners.Homonyms OBJECTS
 */
package corners;

public final class Homonyms {
    static class Base {
        int inherited = 1;
    }

    static final class Item extends Base {
        String aField = "read";
        /** Becomes `aField`. */
        int bField = 2;
        /** Becomes `inherited`. */
        String inheriter = "never";
    }

    static volatile Object sink;

    private Homonyms() {}

    static Item fetch() {
        return new Item();
    }

    public static void main(String[] arguments) throws InterruptedException {
        for (int object = Integer.parseInt(arguments[0]); object > 0; object--) {
            Item item = fetch();
            sink = item.aField;
            sink = item.inherited;
        }
        for (int collection = 0; collection < 2; collection++) {
            System.gc();
            Thread.sleep(300);
        }
    }
}
