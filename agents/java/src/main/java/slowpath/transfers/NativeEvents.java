/*
 * Tells recordings what arrives where: LTTng-UST events out of a native library that is packed in the agent's jar
 * and unpacked into a private folder, which is gone again afterwards. Where it cannot be loaded, one line says so
 * and nothing is told; the report does not need it. While nothing records, one word of memory is read.
 */
package slowpath.transfers;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;

final class NativeEvents {
    private static final VarHandle INT =
            MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

    /** Null: the library is not loaded. */
    private static ByteBuffer receivedSwitch;
    /** Counts recordings, as far as it is seen that they begin. */
    private static volatile int recording;
    private static volatile boolean wasRecorded;

    private NativeEvents() {}

    /** Before anything is told. */
    static void load() {
        try {
            Path folder = Files.createTempDirectory("slowpath-transfers");
            Path library = folder.resolve("libslowpath_transfers.so");
            try {
                unpack(library);
                System.load(library.toString());
            } finally {
                Files.deleteIfExists(library);
                Files.deleteIfExists(folder);
            }
            receivedSwitch = receivedSwitch().asReadOnlyBuffer();
        } catch (IOException | LinkageError | RuntimeException cause) {
            System.err.println("slowpath: transfers will not be seen in recordings: " + cause.getMessage()
                    + " (hint: install liblttng-ust; the report is written all the same)");
        }
    }

    private static void unpack(Path library) throws IOException {
        String resource = "slowpath/transfers/native/" + System.getProperty("os.name") + "-"
                + System.getProperty("os.arch") + "/" + library.getFileName();
        try (InputStream packed = ClassLoader.getSystemResourceAsStream(resource)) {
            if (packed == null) {
                throw new IOException("the agent has no " + resource);
            }
            Files.copy(packed, library);
        }
    }

    /** A remote object arrives on this thread. */
    static void tell(Context context) {
        if (!isRecorded()) {
            return;
        }
        if (!wasRecorded) {
            begin();
        }
        int now = recording;
        if (context.toldIn != now) {
            context(context.number, new String[] {context.by, context.endpoint.method, context.endpoint.url,
                context.callPath.stream().map(NativeEvents::place).collect(Collectors.joining("\n"))});
            // Not before, so that no other thread's event comes first; two threads may tell it both.
            context.toldIn = now;
        }
        received(context.number);
    }

    /** To be called several times a second: notices that a recording has ended, and that the next must be told all. */
    static void look() {
        if (wasRecorded && !isRecorded()) {
            wasRecorded = false;
        }
    }

    private static synchronized void begin() {
        if (!wasRecorded) {
            recording++;
            wasRecorded = true;
        }
    }

    private static boolean isRecorded() {
        return receivedSwitch != null && (int) INT.getOpaque(receivedSwitch, 0) != 0;
    }

    private static String place(StackTraceElement frame) {
        return frame.getClassName() + "." + frame.getMethodName() + "(" + frame.getFileName() + ":"
                + frame.getLineNumber() + ")";
    }

    private static native void received(int context);

    private static native void context(int context, String[] texts);

    private static native ByteBuffer receivedSwitch();
}
