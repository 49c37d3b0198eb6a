/*
 * Asks objects of libraries, whose classes the agent cannot see, for what their public methods tell. A library of
 * another version that has no such method tells nothing.
 */
package slowpath.transfers;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

final class Asked {
    private static final ClassValue<Map<String, Optional<Method>>> METHODS = new ClassValue<>() {
        @Override
        protected Map<String, Optional<Method>> computeValue(Class<?> type) {
            return new ConcurrentHashMap<>();
        }
    };

    private Asked() {}

    /** What a public method without arguments returns; null: the object is null or has none, or the method fails. */
    static Object of(Object object, String method) {
        if (object == null) {
            return null;
        }
        try {
            Optional<Method> found = known(object.getClass(), method);
            return found.isEmpty() ? null : found.get().invoke(object);
        } catch (ReflectiveOperationException | RuntimeException | LinkageError cause) {
            return null;
        }
    }

    /** Whether objects of the class have such a method. */
    static boolean has(Class<?> type, String method) {
        return known(type, method).isPresent();
    }

    private static Optional<Method> known(Class<?> type, String method) {
        return METHODS.get(type).computeIfAbsent(method, name -> Optional.ofNullable(find(type, name)));
    }

    /** Of a public class or interface, as methods of others cannot be called. */
    private static Method find(Class<?> type, String name) {
        for (Class<?> ancestor = type; ancestor != null; ancestor = ancestor.getSuperclass()) {
            Method method = declared(ancestor, name);
            for (Class<?> implemented : ancestor.getInterfaces()) {
                method = method != null ? method : find(implemented, name);
            }
            if (method != null) {
                return method;
            }
        }
        return null;
    }

    private static Method declared(Class<?> type, String name) {
        try {
            return Modifier.isPublic(type.getModifiers()) ? type.getMethod(name) : null;
        } catch (NoSuchMethodException | LinkageError cause) {
            return null;
        }
    }
}
