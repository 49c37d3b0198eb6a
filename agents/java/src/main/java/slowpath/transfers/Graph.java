/*
 * Looks through what a response became: which objects of the application there are, and one of each class, every
 * one as likely as the others (reservoir sampling). Where there are too many, which of an array's or a collection's are
 * looked at is left to chance, too, and they stand for the rest of it: how many there are is an estimate. Follows fields of
 * the application's classes and the collections of java.util; never calls a method of the application.
 */
package slowpath.transfers;

import java.time.temporal.TemporalAccessor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Date;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.RandomAccess;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

final class Graph {
    private static final int MOST_OBJECTS = 2000;
    /** In arrays and collections, texts and numbers, too. */
    private static final int MOST_ELEMENTS = 20_000;
    /** Of lists in lists of which next to nothing was seen, the estimate would be beyond all bounds. */
    private static final int MOST_COUNTED = 10_000_000;

    static final class OfClass {
        int count;
        Object one;
        private double estimate;
    }

    /** What is looked at. */
    private static final class Part {
        final Object object;
        /** What refers to it; null: it is the response. */
        final Part in;
        final boolean isElement;
        /** Of an array or a collection: how many elements it has, and how many of those have been looked at. */
        int elements;
        int looked;
        /** Null: it is no object that counts. */
        OfClass ofClass;
        /** More than one refers to it: elements that were not looked at do so, too, and have none of their own. */
        boolean isShared;
        /** For so many: elements of what it is in that were not looked at, and so on, outwards. */
        double standsFor = 1;

        Part(Object object, Part in, boolean isElement) {
            this.object = object;
            this.in = in;
            this.isElement = isElement;
        }
    }

    final Map<DataClass, OfClass> classes = new LinkedHashMap<>();
    /** There are more objects than were looked at. */
    final boolean tooLarge;
    /** Nothing but what could hold objects was seen: a list of nothing, an answer without a body. */
    boolean isEmpty = true;

    private final Encoding encoding;
    private final Function<Class<?>, DataClass> dataClasses;
    private final Map<Object, Part> seen = new IdentityHashMap<>();
    /** In the order in which they were visited. */
    private final List<Part> visited = new ArrayList<>();
    private final Deque<Part> open = new ArrayDeque<>();
    /** What the part refers to that is visited. */
    private final List<Part> found = new ArrayList<>();
    /** How many elements may still be looked at, each time half of them, and whether there are more. */
    private int elementsLeft = MOST_ELEMENTS;
    private boolean hasMoreElements;

    /**
     * @param encoding entities that others refer to came by rows of their own, now or at another time; what fields refer
     *     to that do not travel did not come at all
     */
    Graph(Object root, Encoding encoding, Function<Class<?>, DataClass> dataClasses) {
        this.encoding = encoding;
        this.dataClasses = dataClasses;
        open.add(new Part(root, null, false));
        // What is in no list first, and then what short lists have, so that long ones leave out nothing but their own.
        List<List<Part>> lists = new ArrayList<>();
        while (mayGoOn()) {
            if (visitNext().elements > 0) {
                lists.add(new ArrayList<>(found));
            } else {
                open.addAll(found);
            }
        }
        Collections.shuffle(lists, ThreadLocalRandom.current());
        lists.sort(Comparator.comparing(list -> -Math.min(list.size(), MOST_OBJECTS)));
        lists.forEach(open::addAll);
        while (mayGoOn()) {
            visitNext();
            open.addAll(found);
        }
        tooLarge = !open.isEmpty() || hasMoreElements;
        if (tooLarge) {
            estimate();
        }
    }

    private boolean mayGoOn() {
        return !open.isEmpty() && visited.size() < MOST_OBJECTS;
    }

    private Part visitNext() {
        Part part = open.removeLast();
        found.clear();
        if (part.isElement) {
            part.in.looked++;
        }
        Part before = seen.putIfAbsent(part.object, part);
        if (before != null) {
            before.isShared = true;
            return part;
        }
        visited.add(part);
        visit(part, part.object);
        return part;
    }

    private void estimate() {
        for (Part part : visited) {
            if (part.in != null && !part.isShared) {
                boolean isOfMore = part.isElement && part.in.looked < part.in.elements;
                part.standsFor = part.in.standsFor * (isOfMore ? (double) part.in.elements / part.in.looked : 1);
            }
            if (part.ofClass != null) {
                part.ofClass.estimate += part.standsFor;
                if (ThreadLocalRandom.current().nextDouble() * part.ofClass.estimate < part.standsFor) {
                    part.ofClass.one = part.object;
                }
            }
        }
        for (OfClass ofClass : classes.values()) {
            ofClass.count = (int) Math.min(MOST_COUNTED, Math.round(ofClass.estimate));
        }
    }

    private void visit(Part part, Object object) {
        Class<?> type = object.getClass();
        DataClass dataClass = dataClasses.apply(type);
        if (dataClass != null) {
            // An object of Hibernate that stands for one which is not loaded is none.
            if (type.getName().contains("$HibernateProxy")) {
                return;
            }
            isEmpty = false;
            if (dataClass.shape.travels(encoding)) {
                part.ofClass = classes.computeIfAbsent(dataClass, none -> new OfClass());
                if (ThreadLocalRandom.current().nextInt(++part.ofClass.count) == 0) {
                    part.ofClass.one = object;
                }
            }
            Object[] values = dataClass.values(object);
            // Where they hold more objects than are looked at, which of them those are is left to chance.
            int first = values.length == 0 ? 0 : ThreadLocalRandom.current().nextInt(values.length);
            for (int place = first; place < first + values.length; place++) {
                int field = place % values.length;
                boolean hasCome = values[field] != null && dataClass.shape.name(field, encoding) != null;
                if (hasCome && (encoding != Encoding.ROW || !isEntity(values[field].getClass()))) {
                    find(values[field], part, false);
                }
            }
            if (!(object instanceof Collection) && !(object instanceof Map)) {
                return;
            }
        }
        if (object instanceof Object[]) {
            findAll(Arrays.asList((Object[]) object), part);
        } else if (Opaque.is(object)) {
            isEmpty &= Wrappers.isKnown(type);
            findAll(Wrappers.content(object, type.getName()), part);
        } else if (object instanceof Collection) {
            findAll((Collection<?>) object, part);
        } else if (object instanceof Map) {
            findAll(((Map<?, ?>) object).values(), part);
        } else if (object instanceof Map.Entry) {
            find(((Map.Entry<?, ?>) object).getValue(), part, false);
        } else if (object instanceof Optional) {
            find(((Optional<?>) object).orElse(null), part, false);
        } else if (object instanceof AtomicReference) {
            find(((AtomicReference<?>) object).get(), part, false);
        } else {
            isEmpty = false;
        }
    }

    /** In any order: where there are more objects than are looked at, each shall be as likely as the others to be. */
    private void findAll(Collection<?> all, Part part) {
        int before = found.size();
        int most = elementsLeft / 2;
        int looked = 0;
        if (all instanceof List && all instanceof RandomAccess && all.size() > most) {
            findSome((List<?>) all, most, part);
            looked = most;
            part.elements = all.size();
        } else {
            Iterator<?> next = all.iterator();
            for (; looked < most && next.hasNext(); looked++) {
                find(next.next(), part, true);
            }
            part.elements = next.hasNext() ? Math.max(most + 1, all.size()) : looked;
        }
        elementsLeft -= looked;
        hasMoreElements |= part.elements > looked;
        Collections.shuffle(found.subList(before, found.size()), ThreadLocalRandom.current());
    }

    /** So many, spread evenly from an element that chance says, which makes each as likely as the others. */
    private void findSome(List<?> all, int most, Part part) {
        long size = all.size();
        long first = ThreadLocalRandom.current().nextLong(size);
        for (long element = 0; element < most; element++) {
            find(all.get((int) ((first + element * size) / most)), part, true);
        }
    }

    private void find(Object object, Part in, boolean isElement) {
        if (object != null && !isPlain(object)) {
            found.add(new Part(object, in, isElement));
            return;
        }
        in.looked += isElement ? 1 : 0;
        isEmpty &= object == null;
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
