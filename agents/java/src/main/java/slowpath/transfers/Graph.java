/*
 * Looks through what a response became: which objects of the application there are, and one of each class, every
 * one as likely as the others (reservoir sampling). Where there are too many, which of an array's or a collection's are
 * looked at is left to chance, too, and how many there are is estimated: a whole's share is divided evenly among what it
 * refers to, and what has been looked at is a share of all (Knuth, Mathematics of Computation 29, 1975). Follows fields of
 * the application's classes and the collections of java.util; never calls a method of the application.
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
    /** What a share that is next to nothing says would be beyond all bounds. */
    private static final int MOST_COUNTED = 10_000_000;

    static final class OfClass {
        int count;
        Object one;
        /** The smallest share of the response that one of them is: so many as fit into it there may be at most. */
        private double least = 1;
    }

    final Map<DataClass, OfClass> classes = new LinkedHashMap<>();
    /** There are more objects than were looked at. */
    final boolean tooLarge;
    /** Nothing but what could hold objects was seen: a list of nothing, an answer without a body. */
    boolean isEmpty = true;

    private final Encoding encoding;
    private final Deque<Part> open = new ArrayDeque<>();
    /** What the object that is visited refers to; how many of its elements are left out, and whether any is not. */
    private final List<Object> found = new ArrayList<>();
    private int leftOut;
    private boolean isSeen;
    /** How many elements may still be looked at, and whether there are more. */
    private int elementsLeft = MOST_ELEMENTS;
    private boolean hasMoreElements;

    /** An object to look at, and which share of the response it is with all that it refers to, as far as can be told. */
    private static final class Part {
        final Object object;
        final double share;

        Part(Object object, double share) {
            this.object = object;
            this.share = share;
        }
    }

    /**
     * @param encoding entities that others refer to came by rows of their own, now or at another time; what fields refer
     *     to that do not travel did not come at all
     */
    Graph(Object root, Encoding encoding, Function<Class<?>, DataClass> dataClasses) {
        this.encoding = encoding;
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        open.add(new Part(root, 1));
        double done = 0;
        while (!open.isEmpty() && seen.size() < MOST_OBJECTS) {
            Part part = open.removeLast();
            found.clear();
            leftOut = 0;
            isSeen = true;
            if (seen.add(part.object)) {
                visit(part.object, part.share, dataClasses);
            }
            for (Object object : found) {
                open.add(new Part(object, part.share / (found.size() + leftOut)));
            }
            done += found.isEmpty() && isSeen ? part.share : 0;
        }
        tooLarge = !open.isEmpty() || hasMoreElements;
        if (tooLarge && done > 0) {
            for (OfClass ofClass : classes.values()) {
                double estimate = Math.min(ofClass.count / done, 1 / ofClass.least);
                ofClass.count = (int) Math.max(ofClass.count, Math.min(MOST_COUNTED, Math.round(estimate)));
            }
        }
    }

    private void visit(Object object, double share, Function<Class<?>, DataClass> dataClasses) {
        Class<?> type = object.getClass();
        DataClass dataClass = dataClasses.apply(type);
        if (dataClass != null) {
            // An object of Hibernate that stands for one which is not loaded is none.
            if (type.getName().contains("$HibernateProxy")) {
                return;
            }
            isEmpty = false;
            if (dataClass.shape.travels(encoding)) {
                OfClass ofClass = classes.computeIfAbsent(dataClass, none -> new OfClass());
                ofClass.least = Math.min(ofClass.least, share);
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
                    add(values[field]);
                }
            }
            if (!(object instanceof Collection) && !(object instanceof Map)) {
                return;
            }
        }
        if (object instanceof Object[]) {
            addAll(Arrays.asList((Object[]) object));
        } else if (Opaque.is(object)) {
            isEmpty &= Wrappers.isKnown(type);
            addAll(Wrappers.content(object, type.getName()));
        } else if (object instanceof Collection) {
            addAll((Collection<?>) object);
        } else if (object instanceof Map) {
            addAll(((Map<?, ?>) object).values());
        } else if (object instanceof Map.Entry) {
            add(((Map.Entry<?, ?>) object).getValue());
        } else if (object instanceof Optional) {
            add(((Optional<?>) object).orElse(null));
        } else if (object instanceof AtomicReference) {
            add(((AtomicReference<?>) object).get());
        } else {
            isEmpty = false;
        }
    }

    /** In any order: where there are more objects than are looked at, each shall be as likely as the others to be. */
    private void addAll(Collection<?> all) {
        int before = found.size();
        int most = elementsLeft;
        if (all instanceof List && all instanceof RandomAccess && all.size() > most) {
            addSome((List<?>) all);
        } else {
            Iterator<?> next = all.iterator();
            for (; elementsLeft > 0 && next.hasNext(); elementsLeft--) {
                add(next.next());
            }
            leftOut = next.hasNext() ? Math.max(1, all.size() - most) : 0;
        }
        hasMoreElements |= leftOut > 0;
        isSeen = most > 0 || leftOut == 0;
        Collections.shuffle(found.subList(before, found.size()), ThreadLocalRandom.current());
    }

    /** As many as are left, spread evenly from an element that chance says, which makes each as likely as the others. */
    private void addSome(List<?> all) {
        long size = all.size();
        long first = ThreadLocalRandom.current().nextLong(size);
        for (long element = 0; element < elementsLeft; element++) {
            add(all.get((int) ((first + element * size) / elementsLeft)));
        }
        leftOut = (int) size - elementsLeft;
        elementsLeft = 0;
    }

    private void add(Object object) {
        if (object != null && !isPlain(object)) {
            found.add(object);
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
