/*
 * Reads that are neither bytecode nor reflection: by an updater, and by Java's own serialisation.
 *   java corners.Unusual OBJECTS
 */
package corners;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

public final class Unusual {
    static class Updated {
        static final AtomicIntegerFieldUpdater<Updated> COUNT =
                AtomicIntegerFieldUpdater.newUpdater(Updated.class, "count");
        volatile int count = 1;
    }

    static class Serialised implements Serializable {
        String text = "t";
    }

    static volatile Object sink;

    private Unusual() {}

    static Updated fetchUpdated() {
        return new Updated();
    }

    static Serialised fetchSerialised() {
        return new Serialised();
    }

    private static void serialise(Object object) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(object);
        }
        sink = bytes;
    }

    public static void main(String[] arguments) throws Exception {
        for (int object = Integer.parseInt(arguments[0]); object > 0; object--) {
            sink = Updated.COUNT.get(fetchUpdated());
            serialise(fetchSerialised());
        }
        for (int collection = 0; collection < 2; collection++) {
            System.gc();
            Thread.sleep(300);
        }
    }
}
