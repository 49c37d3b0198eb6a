/*
 * Looks through what a response became: which objects of the application there are, and one of each class, every
 * one as likely as the others (reservoir sampling). What no list has comes first, then level by level what lists have. Of
 * each level, where it has too many, some are chosen by chance, and stand for the others of it: how many there are is an
 * estimate then (Horvitz and Thompson, Journal of the American Statistical Association 47, 1952). Follows fields of
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
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

final class Graph {
    private static final int MOST_OBJECTS = 2000;
    /** In arrays and collections, texts and numbers, too. */
    private static final int MOST_ELEMENTS = 20_000;
    /** What next to nothing stands for would be beyond all bounds. */
    private static final int MOST_COUNTED = 10_000_000;

    static final class OfClass {
        int count;
        Object one;
        private double estimate;
    }

    /** Some that are looked at of all, each as likely as the others. */
    private static final class Share {
        final int all;
        int seen;

        Share(int all) {
            this.all = all;
        }

        /** For so many of all one stands that is seen. */
        double inverse() {
            return (double) all / seen;
        }
    }

    /** What is looked at. */
    private static final class Part {
        final Object object;
        /** What refers to it; null: it is the response. */
        final Part in;
        /** Null: it is no array, no collection and no map; those of the level that are looked into, and of it. */
        Collection<?> elements;
        Share ofLists;
        Share ofElements;
        /** Null: it is no element of one; those of its level. */
        Share ofLevel;
        /** Null: it is no object that counts. */
        OfClass ofClass;
        /** More than one refers to it: those do so that are not seen, too, and have none of their own. */
        boolean isShared;
        double standsFor = 1;

        Part(Object object, Part in) {
            this.object = object;
            this.in = in;
        }
    }

    final Map<DataClass, OfClass> classes = new LinkedHashMap<>();
    /** There are more objects than were looked at. */
    boolean tooLarge;
    /** Nothing but what could hold objects was seen: a list of nothing, an answer without a body. */
    boolean isEmpty = true;

    private final Encoding encoding;
    private final Function<Class<?>, DataClass> dataClasses;
    private final Map<Object, Part> seen = new IdentityHashMap<>();
    /** In the order in which they were visited. */
    private final List<Part> visited = new ArrayList<>();
    /** What was found and is no element. */
    private final Deque<Part> open = new ArrayDeque<>();
    /** Those of a level. */
    private final List<Part> lists = new ArrayList<>();
    private int elementsLeft = MOST_ELEMENTS;

    /**
     * @param encoding entities that others refer to came by rows of their own, now or at another time; what fields refer
     *     to that do not travel did not come at all
     */
    Graph(Object root, Encoding encoding, Function<Class<?>, DataClass> dataClasses) {
        this.encoding = encoding;
        this.dataClasses = dataClasses;
        List<Part> level = new ArrayList<>();
        level.add(new Part(root, null));
        while (!level.isEmpty()) {
            visitSome(level);
            level = elementsOfLists();
        }
        if (tooLarge) {
            estimate();
        }
    }

    /** Half of what is left at most, so that something is for what is inside. */
    private void visitSome(List<Part> level) {
        int most = visited.size() + (MOST_OBJECTS - visited.size() + 1) / 2;
        Share ofLevel = new Share(level.size());
        Collections.shuffle(level, ThreadLocalRandom.current());
        for (Part part : level) {
            if (visited.size() >= most) {
                tooLarge = true;
                return;
            }
            part.ofLevel = ofLevel;
            ofLevel.seen++;
            open.add(part);
            visitOpen();
        }
    }

    private void visitOpen() {
        while (!open.isEmpty()) {
            Part part = open.removeLast();
            if (visited.size() >= MOST_OBJECTS) {
                tooLarge = true;
                open.clear();
                return;
            }
            Part before = seen.putIfAbsent(part.object, part);
            if (before == null) {
                visited.add(part);
                visit(part, part.object);
            } else {
                before.isShared = true;
            }
        }
    }

    private List<Part> elementsOfLists() {
        List<Part> found = new ArrayList<>();
        Share ofLists = new Share(lists.size());
        int most = (elementsLeft + 1) / 2;
        Collections.shuffle(lists, ThreadLocalRandom.current());
        for (Part list : lists) {
            if (most == 0) {
                tooLarge = true;
                break;
            }
            list.ofLists = ofLists;
            int listsLeft = ofLists.all - ofLists.seen++;
            int looked = findElements(list, (most + listsLeft - 1) / listsLeft, found);
            most -= looked;
            elementsLeft -= looked;
        }
        lists.clear();
        return found;
    }

    private void estimate() {
        for (Part part : visited) {
            Part in = part.in;
            if (in != null && !part.isShared) {
                part.standsFor = in.standsFor * (part.ofLevel == null ? 1
                        : in.ofLists.inverse() * in.ofElements.inverse() * part.ofLevel.inverse());
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
                    find(values[field], part, open);
                }
            }
            if (!(object instanceof Collection) && !(object instanceof Map)) {
                return;
            }
        }
        if (object instanceof Object[]) {
            part.elements = Arrays.asList((Object[]) object);
        } else if (Opaque.is(object)) {
            isEmpty &= Wrappers.isKnown(type);
            part.elements = Wrappers.content(object, type.getName());
        } else if (object instanceof Collection) {
            part.elements = (Collection<?>) object;
        } else if (object instanceof Map) {
            part.elements = ((Map<?, ?>) object).values();
        } else if (object instanceof Map.Entry) {
            find(((Map.Entry<?, ?>) object).getValue(), part, open);
        } else if (object instanceof Optional) {
            find(((Optional<?>) object).orElse(null), part, open);
        } else if (object instanceof AtomicReference) {
            find(((AtomicReference<?>) object).get(), part, open);
        } else {
            isEmpty = false;
        }
        if (part.elements != null) {
            lists.add(part);
        }
    }

    /** @return how many elements were looked at, of all so many at most */
    private int findElements(Part list, int most, List<Part> found) {
        Collection<?> all = list.elements;
        int looked = 0;
        if (all instanceof List && all instanceof RandomAccess && all.size() > most) {
            // Spread evenly from an element that chance says, which makes each as likely as the others.
            long size = all.size();
            long first = ThreadLocalRandom.current().nextLong(size);
            for (; looked < most; looked++) {
                find(((List<?>) all).get((int) ((first + looked * size) / most)), list, found);
            }
            list.ofElements = new Share((int) size);
        } else {
            Iterator<?> next = all.iterator();
            for (; looked < most && next.hasNext(); looked++) {
                find(next.next(), list, found);
            }
            list.ofElements = new Share(next.hasNext() ? Math.max(most + 1, all.size()) : looked);
        }
        list.ofElements.seen = looked;
        tooLarge |= looked < list.ofElements.all;
        return looked;
    }

    private void find(Object object, Part in, Collection<Part> found) {
        if (object != null && !isPlain(object)) {
            found.add(new Part(object, in));
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
