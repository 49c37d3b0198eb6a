/*
 * Keeps what was added to the application's classes out of reflection: a framework that stores all fields of an
 * object, makes a proxy of all interfaces of a bean or computes the version of a serialised class must find what the
 * programmer wrote. Called from java.lang.Class itself, so it uses next to nothing. Public for the JVM's sake.
 */
package slowpath.transfers;

import java.lang.reflect.Field;
import java.lang.reflect.Method;

public final class Hidden {
    private Hidden() {}

    /** The fields without the added one. */
    public static Field[] fields(Field[] all, Class<?> type) {
        if (Watchable.class.isAssignableFrom(type)) {
            for (int index = 0; index < all.length; index++) {
                if (all[index].getName().equals(Watchable.FIELD)) {
                    Field[] others = new Field[all.length - 1];
                    System.arraycopy(all, 0, others, 0, index);
                    System.arraycopy(all, index + 1, others, index, others.length - index);
                    return others;
                }
            }
        }
        return all;
    }

    /** The methods without the added ones. */
    public static Method[] methods(Method[] all, Class<?> type) {
        if (!Watchable.class.isAssignableFrom(type) || type == Watchable.class) {
            return all;
        }
        int count = 0;
        for (Method method : all) {
            count += isAdded(method) ? 0 : 1;
        }
        if (count == all.length) {
            return all;
        }
        Method[] others = new Method[count];
        int next = 0;
        for (Method method : all) {
            if (!isAdded(method)) {
                others[next++] = method;
            }
        }
        return others;
    }

    private static boolean isAdded(Method method) {
        return method.isSynthetic()
                && (method.getName().equals(Watchable.GET) || method.getName().equals(Watchable.SET));
    }

    /** The interfaces without {@link Watchable}. */
    public static Class<?>[] interfaces(Class<?>[] all, Class<?> type) {
        if (Watchable.class.isAssignableFrom(type)) {
            for (int index = 0; index < all.length; index++) {
                if (all[index] == Watchable.class) {
                    Class<?>[] others = new Class<?>[all.length - 1];
                    System.arraycopy(all, 0, others, 0, index);
                    System.arraycopy(all, index + 1, others, index, others.length - index);
                    return others;
                }
            }
        }
        return all;
    }
}
