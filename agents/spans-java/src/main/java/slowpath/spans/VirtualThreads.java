/*
 * Whether a thread is a virtual one, which only Java 21 and later knows. The handle is a constant to the
 * compiler: where there are no such threads, the question costs nothing.
 */
package slowpath.spans;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

final class VirtualThreads {
    private static final MethodHandle IS_VIRTUAL = isVirtual();

    private VirtualThreads() {}

    static boolean isVirtual(Thread thread) {
        try {
            return (boolean) IS_VIRTUAL.invokeExact(thread);
        } catch (Throwable cause) { // Thread.isVirtual throws nothing
            return false;
        }
    }

    private static MethodHandle isVirtual() {
        MethodType type = MethodType.methodType(boolean.class);
        try {
            return MethodHandles.publicLookup().findVirtual(Thread.class, "isVirtual", type);
        } catch (ReflectiveOperationException before21) {
            MethodHandle never = MethodHandles.constant(boolean.class, false);
            return MethodHandles.dropArguments(never, 0, Thread.class);
        }
    }
}
