/*
 * Receives objects, and only then gets the VarHandle by which it reads each.
 *   java corners.ReadLater OBJECTS
 */
package corners;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;

public final class ReadLater {
    static final class Item {
        int read = 1;
    }

    interface Source {
        Item fetch();
    }

    static final class Remote implements Source {
        @Override
        public Item fetch() {
            return new Item();
        }
    }

    static volatile int sink;

    private ReadLater() {}

    public static void main(String[] arguments) throws ReflectiveOperationException, InterruptedException {
        Source source = new Remote();
        List<Item> items = new ArrayList<>();
        for (int object = Integer.parseInt(arguments[0]); object > 0; object--) {
            items.add(source.fetch());
        }
        VarHandle handle = MethodHandles.lookup().findVarHandle(Item.class, "read", int.class);
        for (Item item : items) {
            sink = (int) handle.get(item);
        }
        items.clear();
        for (int collection = 0; collection < 2; collection++) {
            System.gc();
            Thread.sleep(300);
        }
    }
}
