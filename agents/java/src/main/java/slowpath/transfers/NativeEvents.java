/*
 * Tells recordings what arrives where: LTTng-UST events out of a native library. Where it is not loaded, nothing is
 * told; the report does not need it. While nothing records, one word of memory is read.
 */
package slowpath.transfers;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
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

    /** The library is loaded; before anything is told. */
    static void ready() {
        receivedSwitch = receivedSwitch().asReadOnlyBuffer();
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

    static boolean isRecorded() {
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
