/*
 * The change of what Hibernate adds to the classes of entities where these are enhanced when they are built: to set a
 * field, and to find what has changed, it reads fields for its own sake. By `$$_hibernate_read_name` the program reads.
 */
package slowpath.transfers;

import org.objectweb.asm.MethodVisitor;

final class Enhanced {
    private static final String ADDED = "$$_hibernate_";

    private Enhanced() {}

    /** Whether it is such a method, whose reads are no use. */
    static boolean readsForItself(String method) {
        return method.startsWith(ADDED + "write_") || method.startsWith(ADDED) && method.contains("Dirty");
    }

    /** The method says when it begins and ends. */
    static MethodVisitor visitor(int access, String owner, String method, String type, MethodVisitor next) {
        return new AroundHooked(access, owner, method, type,
                new AroundHooked.Calls().restoring("uncounted").begin("beginOwnReads").end("endOwnReads"), next);
    }
}
