// A probe for programs in Java: a number that the program tells of itself while somebody asks for it, by libslowpath_probes
// through JNI. One class; the two native libraries lie beside its jar or where the JVM looks for libraries. Where they
// cannot be loaded, all probes stay off. Not a tracer, and no exporter.
package slowpath.probes;

import java.io.File;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * <pre>
 * static final Probe QUERY = new Probe(Probe.Type.LAT, 7, 1, "query");
 * long begun = QUERY.begin();
 * try { answer(request); } finally { QUERY.end(begun); }
 * </pre>
 * Make each once, in a static final field: it lives as long as the process. Any thread may use it.
 */
public final class Probe {
    /** What is measured; see the README. The order is that of the bits of the record. */
    public enum Type { CNT, LAT, TPT, LLC, FLT, CTXSW, PERFCNTR, SNAPSHOT }

    private static final int ENOSYS = 38;
    private static final VarHandle INT = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());
    private static final boolean LOADED = load();
    private final long probe;
    private final ByteBuffer on;

    public Probe(Type type, int id) {
        this(type, id, 1, "", 0);
    }

    public Probe(Type type, int id, int subSampling, String name) {
        this(type, id, subSampling, name, 0);
    }

    /**
     * @param id from 0 to 65535
     * @param subSampling how many executions of a thread make one record, at least 1
     * @param counter number of a performance counter ({@link #setCounter}), of a probe of type PERFCNTR
     */
    public Probe(Type type, int id, int subSampling, String name, int counter) {
        if (id < 0 || id > 65535 || subSampling < 1 || counter < 0 || counter > 15) {
            throw new IllegalArgumentException("id is from 0 to 65535, subSampling at least 1, counter from 0 to 15");
        }
        probe = LOADED ? create(id, 1 << type.ordinal(), subSampling, counter, name) : 0;
        on = probe != 0 ? switchOf(probe) : ByteBuffer.allocateDirect(Integer.BYTES);
    }

    public boolean isOn() {
        return (int) INT.getOpaque(on, 0) != 0;
    }

    /** Begins an execution. The result is for {@link #end}, on the same thread; nested properly. */
    public long begin() {
        return isOn() ? enter(probe) : 0;
    }

    public void end(long begun) {
        if (begun != 0) {
            leave(probe, begun);
        }
    }

    /** One to six values, of a probe of type SNAPSHOT. While the probe can be off, guard what it costs by {@link #isOn}. */
    public void snapshot(long... values) {
        if (isOn()) {
            snapshot(probe, values);
        }
    }

    /** What performance counter 0 to 15 counts, by the processor's manual. 0, or a negative errno where there is none. */
    public static int setCounter(int counter, int event, int mask) {
        return LOADED ? setPerfcntr(counter, (long) mask << 8 | event) : -ENOSYS;
    }

    private static boolean load() {
        try {
            File jar = new File(Probe.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            File beside = new File(jar.getParentFile(), System.mapLibraryName("slowpath_probes_java"));
            if (beside.exists()) {
                System.load(beside.getPath());
            } else {
                System.loadLibrary("slowpath_probes_java");
            }
            return true;
        } catch (Exception | UnsatisfiedLinkError reason) {
            String verbose = System.getenv("SLOWPATH_PROBES_VERBOSE");
            if (verbose != null && !verbose.isEmpty() && !verbose.equals("0")) {
                System.err.println("slowpath-probes: probes in Java stay off: " + reason.getMessage());
            }
            return false;
        }
    }

    private static native long create(int id, int type, int subSampling, int counter, String name);

    private static native ByteBuffer switchOf(long probe);

    private static native long enter(long probe);

    private static native void leave(long probe, long entered);

    private static native void snapshot(long probe, long[] values);

    private static native int setPerfcntr(int counter, long config);
}
