/*
 * The calls of libslowpath_spans, and its switches: whether a session records an event is read from
 * the library's memory, so that a span which nobody records costs a load and a branch, no call into
 * C. NativeLibrary must have loaded the library first. Not an interface for applications.
 */
package slowpath.spans;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

final class NativeSpans {
    /** Numbers of the events in slowpath_spans.h. */
    static final int START = 0, END = 1, ATTACH = 2, DETACH = 3;

    private static final VarHandle INT =
            MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());
    private static final ByteBuffer START_SWITCH = switchOf(START).asReadOnlyBuffer();
    private static final ByteBuffer END_SWITCH = switchOf(END).asReadOnlyBuffer();
    private static final ByteBuffer ATTACH_SWITCH = switchOf(ATTACH).asReadOnlyBuffer();

    private NativeSpans() {}

    /** Whether a session records starts of spans. LTTng changes it at any time, from its own thread. */
    static boolean startsRecorded() {
        return (int) INT.getOpaque(START_SWITCH, 0) != 0;
    }

    static boolean endsRecorded() {
        return (int) INT.getOpaque(END_SWITCH, 0) != 0;
    }

    static boolean attachesRecorded() {
        return (int) INT.getOpaque(ATTACH_SWITCH, 0) != 0;
    }

    /** Each fires one event on the calling thread if a session records it. */
    static native void start(long traceIdHigh, long traceIdLow, long spanId);

    static native void end(long traceIdHigh, long traceIdLow, long spanId);

    static native void attach(long traceIdHigh, long traceIdLow, long spanId);

    static native void detach(long traceIdHigh, long traceIdLow, long spanId);

    private static native ByteBuffer switchOf(int event);
}
