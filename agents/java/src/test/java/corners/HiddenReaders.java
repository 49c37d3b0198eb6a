/*
 * Fields that only hidden classes read (since Java 15), as accessors that are generated do.
 *   java corners.HiddenReaders OBJECTS
 */
package corners;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.util.function.ToIntFunction;

public final class HiddenReaders {
    static class Item {
        int read = 1;
        int readWithData = 2;
        int never = 3;
    }

    static final class Reader implements ToIntFunction<Item> {
        @Override
        public int applyAsInt(Item item) {
            return item.read;
        }
    }

    static final class ReaderWithData implements ToIntFunction<Item> {
        @Override
        public int applyAsInt(Item item) {
            return item.readWithData;
        }
    }

    static volatile Object sink;

    private HiddenReaders() {}

    static Item fetch() {
        return new Item();
    }

    @SuppressWarnings("unchecked")
    private static ToIntFunction<Item> hidden(String method, Class<?> like, Object... data)
            throws ReflectiveOperationException, IOException {
        Object options = Array.newInstance(Class.forName("java.lang.invoke.MethodHandles$Lookup$ClassOption"), 0);
        for (Method found : MethodHandles.Lookup.class.getMethods()) {
            if (found.getName().equals(method)) {
                MethodHandles.Lookup of = (MethodHandles.Lookup) found.invoke(MethodHandles.lookup(), data.length == 0
                        ? new Object[] {file(like), true, options} : new Object[] {file(like), data[0], true, options});
                return (ToIntFunction<Item>) of.lookupClass().getDeclaredConstructor().newInstance();
            }
        }
        throw new NoSuchMethodException(method);
    }

    private static byte[] file(Class<?> type) throws IOException {
        try (InputStream file = type.getResourceAsStream("/" + type.getName().replace('.', '/') + ".class")) {
            return file.readAllBytes();
        }
    }

    public static void main(String[] arguments) throws Exception {
        ToIntFunction<Item> reader = hidden("defineHiddenClass", Reader.class);
        ToIntFunction<Item> readerWithData = hidden("defineHiddenClassWithClassData", ReaderWithData.class, "data");
        for (int object = Integer.parseInt(arguments[0]); object > 0; object--) {
            Item item = fetch();
            sink = reader.applyAsInt(item) + readerWithData.applyAsInt(item);
        }
        for (int collection = 0; collection < 2; collection++) {
            System.gc();
            Thread.sleep(300);
        }
    }
}
