/*
 * Looks through what a response became: which objects of the application there are, and one of each class, every
 * one as likely as the others (reservoir sampling). Where there are too many, which of an array's or a collection's are
 * looked at is left to chance, too, and only these are counted. Follows fields of the application's classes and the
 * collections of java.util; never calls a method of the application.
 */
package slowpath.transfers;

import java.time.temporal.TemporalAccessor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Date;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.RandomAccess;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

final class Graph {
    private static final int MOST_OBJECTS = 2000;
    /** In arrays and collections, texts and numbers, too. */
    private static final int MOST_ELEMENTS = 20_000;

    static final class OfClass {
        int count;
        Object one;
    }

    final Map<DataClass, OfClass> classes = new LinkedHashMap<>();
    /** There are more objects than were looked at. */
    final boolean tooLarge;
    /** Nothing but what could hold objects was seen: a list of nothing, an answer without a body. */
    boolean isEmpty = true;

    private final Encoding encoding;
    private final Deque<Object> open = new ArrayDeque<>();
    /** How many elements may still be looked at, and whether there are more. */
    private int elementsLeft = MOST_ELEMENTS;
    private boolean hasMoreElements;

    /**
     * @param encoding entities that others refer to came by rows of their own, now or at another time; what fields refer
     *     to that do not travel did not come at all
     */
    Graph(Object root, Encoding encoding, Function<Class<?>, DataClass> dataClasses) {
        this.encoding = encoding;
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        open.add(root);
        while (!open.isEmpty() && seen.size() < MOST_OBJECTS) {
            Object object = open.removeLast();
            if (seen.add(object)) {
                visit(object, dataClasses);
            }
        }
        tooLarge = !open.isEmpty() || hasMoreElements;
    }

    private void visit(Object object, Function<Class<?>, DataClass> dataClasses) {
        Class<?> type = object.getClass();
        DataClass dataClass = dataClasses.apply(type);
        if (dataClass != null) {
            isEmpty = false;
            // An object of Hibernate that stands for one which is not loaded is none.
            if (type.getName().contains("$HibernateProxy")) {
                return;
            }
            if (dataClass.shape.travels(encoding)) {
                OfClass ofClass = classes.computeIfAbsent(dataClass, none -> new OfClass());
                if (ThreadLocalRandom.current().nextInt(++ofClass.count) == 0) {
                    ofClass.one = object;
                }
            }
            Object[] values = dataClass.values(object);
            // Where they hold more objects than are looked at, which of them those are is left to chance.
            int first = values.length == 0 ? 0 : ThreadLocalRandom.current().nextInt(values.length);
            for (int place = first; place < first + values.length; place++) {
                int field = place % values.length;
                boolean hasCome = values[field] != null && dataClass.shape.name(field, encoding) != null;
                if (hasCome && (encoding != Encoding.ROW || !isEntity(values[field].getClass()))) {
                    open(values[field]);
                }
            }
            if (!(object instanceof Collection) && !(object instanceof Map)) {
                return;
            }
        }
        if (object instanceof Object[]) {
            openAll(Arrays.asList((Object[]) object));
        } else if (Opaque.is(object)) {
            isEmpty &= Wrappers.isKnown(type);
            openAll(Wrappers.content(object, type.getName()));
        } else if (object instanceof Collection) {
            openAll((Collection<?>) object);
        } else if (object instanceof Map) {
            openAll(((Map<?, ?>) object).values());
        } else if (object instanceof Map.Entry) {
            open(((Map.Entry<?, ?>) object).getValue());
        } else if (object instanceof Optional) {
            open(((Optional<?>) object).orElse(null));
        } else if (object instanceof AtomicReference) {
            open(((AtomicReference<?>) object).get());
        } else {
            isEmpty = false;
        }
    }

    /** In any order: where there are more objects than are looked at, each shall be as likely as the others to be. */
    private void openAll(Collection<?> all) {
        List<Object> objects = new ArrayList<>();
        if (all instanceof List && all instanceof RandomAccess && all.size() > elementsLeft) {
            addSome((List<?>) all, objects);
        } else {
            Iterator<?> next = all.iterator();
            for (; elementsLeft > 0 && next.hasNext(); elementsLeft--) {
                add(next.next(), objects);
            }
            hasMoreElements |= next.hasNext();
        }
        Collections.shuffle(objects, ThreadLocalRandom.current());
        open.addAll(objects);
    }

    /** As many as are left, spread evenly from an element that chance says, which makes each as likely as the others. */
    private void addSome(List<?> all, List<Object> objects) {
        long size = all.size();
        long first = ThreadLocalRandom.current().nextLong(size);
        for (long element = 0; element < elementsLeft; element++) {
            add(all.get((int) ((first + element * size) / elementsLeft)), objects);
        }
        elementsLeft = 0;
        hasMoreElements = true;
    }

    private void open(Object object) {
        add(object, open);
    }

    private void add(Object object, Collection<Object> objects) {
        if (object != null && !isPlain(object)) {
            objects.add(object);
        } else if (object != null) {
            isEmpty = false;
        }
    }

    private static boolean isEntity(Class<?> type) {
        for (Class<?> ancestor = type; ancestor != null; ancestor = ancestor.getSuperclass()) {
            if (DataClass.has(ancestor, ".persistence.Entity")) {
                return true;
            }
        }
        return false;
    }

    /** Whether it is a value that holds no objects. The application may have numbers and times of its own. */
    static boolean isPlain(Object object) {
        return object instanceof String || object instanceof Boolean
                || (object instanceof Number || object instanceof TemporalAccessor || object instanceof Date
                        || object instanceof UUID) && object.getClass().getName().startsWith("java.");
    }
}
