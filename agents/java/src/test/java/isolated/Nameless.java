/*
 * Fields that a class reads whose loader has defined it without saying its name.
 *   java isolated.Nameless OBJECTS
 */
package isolated;

import java.io.IOException;
import java.io.InputStream;
import java.util.function.ToIntFunction;

public final class Nameless {
    public static final class Item {
        public int read = 1;
        int never = 2;
    }

    public static final class Reader implements ToIntFunction<Item> {
        @Override
        public int applyAsInt(Item item) {
            return item.read;
        }
    }

    private static final class Loader extends ClassLoader {
        Class<?> define(byte[] file) {
            return defineClass(null, file, 0, file.length);
        }
    }

    static volatile int sink;

    private Nameless() {}

    static Item fetch() {
        return new Item();
    }

    @SuppressWarnings("unchecked")
    private static ToIntFunction<Item> reader() throws ReflectiveOperationException, IOException {
        try (InputStream file = Nameless.class.getResourceAsStream("/isolated/Nameless$Reader.class")) {
            Class<?> reader = new Loader().define(file.readAllBytes());
            return (ToIntFunction<Item>) reader.getDeclaredConstructor().newInstance();
        }
    }

    public static void main(String[] arguments) throws Exception {
        ToIntFunction<Item> reader = reader();
        for (int object = Integer.parseInt(arguments[0]); object > 0; object--) {
            sink = reader.applyAsInt(fetch());
        }
        for (int collection = 0; collection < 2; collection++) {
            System.gc();
            Thread.sleep(300);
        }
    }
}
