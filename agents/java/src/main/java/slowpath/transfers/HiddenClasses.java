/*
 * Where a program makes hidden classes (since Java 15), as for accessors that it generates: they are rewritten before the
 * JVM has them, as it shows them to no transformer. Public for the JVM's sake.
 */
package slowpath.transfers;

import java.lang.invoke.MethodHandles;

public final class HiddenClasses {
    /** Set once, before it is asked for. */
    static Rewriting rewriting;

    private HiddenClasses() {}

    /** The file that is taken instead of one that a program gives. */
    public static byte[] rewritten(MethodHandles.Lookup host, byte[] file) {
        Class<?> type = host.lookupClass();
        return file == null ? null : rewriting.ofHidden(type.getClassLoader(), type.getName(), file);
    }
}
