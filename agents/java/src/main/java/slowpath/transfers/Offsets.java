/*
 * Where in an object a field lies: what the JVM's own Unsafe tells, of records too.
 */
package slowpath.transfers;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

final class Offsets {
    private static final String PACKAGE = "jdk.internal.misc";

    private final Object unsafe;
    private final Method offset;
    private final int bytesOfReference;

    Offsets() throws ReflectiveOperationException {
        Modules.open(Object.class.getModule(), PACKAGE);
        Class<?> type = Class.forName(PACKAGE + ".Unsafe");
        unsafe = type.getMethod("getUnsafe").invoke(null);
        offset = type.getMethod("objectFieldOffset", Field.class);
        bytesOfReference = (int) type.getMethod("arrayIndexScale", Class.class).invoke(unsafe, Object[].class);
    }

    /** In bytes from the begin of the object. */
    long of(Field field) {
        try {
            return (long) offset.invoke(unsafe, field);
        } catch (IllegalAccessException | InvocationTargetException cause) {
            throw new IllegalStateException(cause);
        }
    }

    /** How many bytes the field takes: 1, 2, 4 or 8. */
    int bytes(Field field) {
        Class<?> type = field.getType();
        if (type == long.class || type == double.class) {
            return 8;
        }
        if (type == int.class || type == float.class) {
            return 4;
        }
        if (type == short.class || type == char.class) {
            return 2;
        }
        return type.isPrimitive() ? 1 : bytesOfReference;
    }
}
