/*
 * Looks through what a response became: which objects of the application there are, and one of each class, every
 * one as likely as the others (reservoir sampling). What no list has comes first, then what lists have, then what lists in
 * these have. Where those are too many, some lists of a level, and some elements of each, are chosen by chance and stand for
 * the others: how many there are is an estimate then (Horvitz and Thompson, Journal of the American Statistical Association
 * 47, 1952). Follows fields of the application's classes and the collections of java.util; never calls a method of the
 * application.
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
    /** What next to nothing stands for would be beyond all bounds. */
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
        /** Null: it is no array, no collection and no map. Those of them that were looked at, but for texts and the like. */
        Collection<?> elements;
        List<Part> found;
        /** For so many of all those of its level each one stands that was visited. */
        double eachStandsFor = 1;
        /** Null: it is no object that counts. */
        OfClass ofClass;
        /** More than one refers to it, but for what is inside of it: those that are not seen do so, too. */
        boolean isShared;
        double standsFor = 1;

        Part(Object object, Part in, boolean isElement) {
            this.object = object;
            this.in = in;
            this.isElement = isElement;
        }

        boolean isInside(Part other) {
            for (Part part = in; part != null; part = part.in) {
                if (part == other) {
                    return true;
                }
            }
            return false;
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
    private final Deque<Part> open = new ArrayDeque<>();
    /** Those that were visited, and what they have was not. */
    private final List<Part> lists = new ArrayList<>();
    private int elementsLeft = MOST_ELEMENTS;

    /**
     * @param encoding entities that others refer to came by rows of their own, now or at another time; what fields refer
     *     to that do not travel did not come at all
     */
    Graph(Object root, Encoding encoding, Function<Class<?>, DataClass> dataClasses) {
        this.encoding = encoding;
        this.dataClasses = dataClasses;
        visit(new Part(root, null, false));
        while (!lists.isEmpty()) {
            visitLists();
        }
        if (tooLarge) {
            estimate();
        }
    }

    /** What lists of a level have: of what may be looked at still half, so that something is left for lists in them. */
    private void visitLists() {
        List<Part> level = new ArrayList<>(lists);
        lists.clear();
        Collections.shuffle(level, ThreadLocalRandom.current());
        List<Part> full = new ArrayList<>();
        int most = (elementsLeft + 1) / 2;
        int opened = 0;
        for (; opened < level.size() && most > 0; opened++) {
            Part list = level.get(opened);
            int looked = findElements(list, share(most, level.size() - opened));
            most -= looked;
            elementsLeft -= looked;
            if (!list.found.isEmpty()) {
                full.add(list);
            }
        }
        most = (MOST_OBJECTS - visited.size() + 1) / 2;
        if (full.size() <= most) {
            full.sort(Comparator.comparing(list -> list.found.size())); // What short ones do not need is for long ones.
        }
        int entered = 0;
        for (; entered < full.size() && most > 0; entered++) {
            int before = visited.size();
            visitElements(full.get(entered), share(most, full.size() - entered));
            most -= visited.size() - before;
        }
        tooLarge |= opened < level.size() || entered < full.size();
        for (Part list : full.subList(0, entered)) {
            list.eachStandsFor *= (double) level.size() / opened * full.size() / entered;
        }
    }

    /** What one of so many gets. */
    private static int share(int all, int of) {
        return (all + of - 1) / of;
    }

    private void visitElements(Part list, int most) {
        Collections.shuffle(list.found, ThreadLocalRandom.current());
        int end = visited.size() + most;
        int entered = 0;
        for (; entered < list.found.size() && visited.size() < end; entered++) {
            visit(list.found.get(entered));
        }
        tooLarge |= entered < list.found.size();
        list.eachStandsFor *= (double) list.found.size() / entered;
    }

    /** With all that it refers to but by lists. */
    private void visit(Part whole) {
        open.add(whole);
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
                look(part, part.object);
            } else {
                before.isShared |= !part.isInside(before);
            }
        }
    }

    private void estimate() {
        for (Part part : visited) {
            Part in = part.in;
            if (in != null && !part.isShared) {
                part.standsFor = in.standsFor * (part.isElement ? in.eachStandsFor : 1);
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

    private void look(Part part, Object object) {
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
                    find(values[field], part, false, open);
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
            find(((Map.Entry<?, ?>) object).getValue(), part, false, open);
        } else if (object instanceof Optional) {
            find(((Optional<?>) object).orElse(null), part, false, open);
        } else if (object instanceof AtomicReference) {
            find(((AtomicReference<?>) object).get(), part, false, open);
        } else {
            isEmpty = false;
        }
        if (part.elements != null) {
            part.found = new ArrayList<>();
            lists.add(part);
        }
    }

    /** @return how many elements were looked at, so many at most */
    private int findElements(Part list, int most) {
        Collection<?> all = list.elements;
        int looked = 0;
        int size;
        if (all instanceof List && all instanceof RandomAccess && all.size() > most) {
            // Spread evenly from an element that chance says, which makes each as likely as the others.
            size = all.size();
            long first = ThreadLocalRandom.current().nextLong(size);
            for (; looked < most; looked++) {
                find(((List<?>) all).get((int) ((first + looked * (long) size) / most)), list, true, list.found);
            }
        } else {
            Iterator<?> next = all.iterator();
            for (; looked < most && next.hasNext(); looked++) {
                find(next.next(), list, true, list.found);
            }
            size = next.hasNext() ? Math.max(most + 1, all.size()) : looked;
        }
        tooLarge |= looked < size;
        list.eachStandsFor = looked == 0 ? 1 : (double) size / looked;
        return looked;
    }

    private void find(Object object, Part in, boolean isElement, Collection<Part> found) {
        if (object != null && !isPlain(object)) {
            found.add(new Part(object, in, isElement));
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
