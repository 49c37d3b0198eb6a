/*
 * Looks through what a response became: which objects of the application there are, and one of each class, every
 * one as likely as the others (reservoir sampling). Follows fields of the application's classes and the
 * collections of java.util; never calls a method of the application.
 */
package slowpath.transfers;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;

final class Graph {
    private static final int MOST_OBJECTS = 2000;

    static final class OfClass {
        int count;
        Object one;
    }

    final Map<DataClass, OfClass> classes = new LinkedHashMap<>();
    /** There are more objects than were looked at. */
    final boolean tooLarge;

    private final Deque<Object> open = new ArrayDeque<>();

    Graph(Object root, Function<Class<?>, DataClass> dataClasses) {
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        open.add(root);
        while (!open.isEmpty() && seen.size() < MOST_OBJECTS) {
            Object object = open.pop();
            if (seen.add(object)) {
                visit(object, dataClasses);
            }
        }
        tooLarge = !open.isEmpty();
    }

    private void visit(Object object, Function<Class<?>, DataClass> dataClasses) {
        String type = object.getClass().getName();
        if (object instanceof Watchable) {
            DataClass dataClass = dataClasses.apply(object.getClass());
            if (dataClass == null) {
                return;
            }
            OfClass ofClass = classes.computeIfAbsent(dataClass, none -> new OfClass());
            if (ThreadLocalRandom.current().nextInt(++ofClass.count) == 0) {
                ofClass.one = object;
            }
            for (Object value : dataClass.values(object)) {
                open(value);
            }
        } else if (object instanceof Object[]) {
            for (Object element : (Object[]) object) {
                open(element);
            }
        } else if (isOpaque(type)) {
            open(Wrappers.content(object, type));
        } else if (object instanceof Collection) {
            ((Collection<?>) object).forEach(this::open);
        } else if (object instanceof Map) {
            ((Map<?, ?>) object).values().forEach(this::open);
        } else if (object instanceof Optional) {
            open(((Optional<?>) object).orElse(null));
        }
    }

    private void open(Object object) {
        if (object != null && !(object instanceof String || object instanceof Number || object instanceof Boolean)) {
            open.push(object);
        }
    }

    /** Whether looking into an object of this class might run code of others, for instance load it from a database. */
    static boolean isOpaque(String className) {
        return !className.startsWith("java.util.");
    }
}
