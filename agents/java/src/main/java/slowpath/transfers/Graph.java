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
    /** Of each level half of what is left at most: what has 2,000 objects, arrays, collections and maps is seen whole. */
    private static final int MOST_OBJECTS = 4000;
    /** In arrays and collections, texts and numbers, too; likewise. */
    private static final int MOST_ELEMENTS = 40_000;
    /** Of what is left a quarter more, until so many lists of a level are entered, however much their elements refer to. */
    private static final int LEAST_LISTS = 8;
    /** What was begun is finished: what an element refers to, but by lists. */
    private static final int MOST_OF_ALL = 2 * MOST_OBJECTS;
    /** Among so many elements those are chosen that are looked at, of what has to be gone through from its begin: sets, queues. */
    private static final int MOST_PASSED = 200_000;
    /** Of how many elements of a list that were not entered it is asked whether they were visited all the same. */
    private static final int MOST_ASKED = 1000;
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
        /** The element of a list that it is or belongs to; else the response. */
        final Part whole;
        /** So many lists that is in. */
        final int depth;
        /** Null: it is no array, no collection and no map. Those of them that were looked at, but for texts and the like. */
        Collection<?> elements;
        int size;
        List<Part> found;
        /** So many of these were visited. */
        int entered;
        /** For so many of all those of its level each one stands that was visited. */
        double eachStandsFor = 1;
        /** Null: it is no object that counts. */
        OfClass ofClass;
        /** The smallest whole in which all refer to it that do; null: its own. */
        Part common;
        double standsFor = 1;

        Part(Object object, Part in, boolean isElement) {
            this.object = object;
            this.in = in;
            this.isElement = isElement;
            whole = in == null || isElement ? this : in.whole;
            depth = in == null ? 0 : in.depth + (isElement ? 1 : 0);
        }

        /** Another part refers to it, too. What is inside of it, and what is of a list that it is of, tells nothing new. */
        void refer(Part from) {
            if (in == null) {
                return;
            }
            Part one = common == null ? in.whole : common;
            Part other = from.whole;
            while (one != other) {
                if (one.in == from || isElement && other.in == in) {
                    return;
                }
                if (one.depth > other.depth) {
                    one = one.in.whole;
                } else {
                    other = other.in.whole;
                }
            }
            common = one;
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
        List<Part> full = new ArrayList<>();
        int most = (elementsLeft + 1) / 2;
        if (level.size() > most) {
            Collections.shuffle(level, ThreadLocalRandom.current());
        } else {
            level.sort(Comparator.comparing(list -> list.size)); // What short ones do not need is for long ones.
        }
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
        tooLarge |= opened < level.size();
        visitElements(full, (double) level.size() / opened);
    }

    /** What one of so many gets. */
    private static int share(int all, int of) {
        return (all + of - 1) / of;
    }

    /** One of each list in turn: short ones are seen whole, and what they do not need is for long ones. */
    private void visitElements(List<Part> full, double eachListStandsFor) {
        Collections.shuffle(full, ThreadLocalRandom.current());
        int end = visited.size() + (MOST_OBJECTS - visited.size() + 1) / 2;
        int endOfFirst = end + (MOST_OBJECTS - end) / 2;
        int reached = 0;
        Deque<Part> turns = new ArrayDeque<>(full);
        while (!turns.isEmpty() && (visited.size() < end
                || visited.size() < endOfFirst && reached < LEAST_LISTS && turns.getFirst().entered == 0)) {
            Part list = turns.removeFirst();
            reached += list.entered == 0 ? 1 : 0;
            visit(choose(list.found, list.entered++));
            if (list.entered < list.found.size()) {
                turns.addLast(list);
            }
        }
        tooLarge |= !turns.isEmpty();
        for (Part list : full.subList(0, reached)) {
            list.eachStandsFor *= eachListStandsFor * full.size() / reached;
        }
    }

    /** @return any of those from there on, which stands there now */
    private static Part choose(List<Part> parts, int place) {
        Collections.swap(parts, place, ThreadLocalRandom.current().nextInt(place, parts.size()));
        return parts.get(place);
    }

    /** With all that it refers to but by lists. */
    private void visit(Part whole) {
        open.add(whole);
        while (!open.isEmpty()) {
            Part part = open.removeLast();
            if (visited.size() >= MOST_OF_ALL) {
                tooLarge = true;
                open.clear();
                return;
            }
            Part before = seen.putIfAbsent(part.object, part);
            if (before == null) {
                visited.add(part);
                look(part, part.object);
            } else {
                before.refer(part.in);
            }
        }
    }

    private void estimate() {
        for (Part part : visited) {
            Part in = part.in;
            if (part.common != null) {
                part.standsFor = part.common.standsFor;
            } else if (in != null) {
                part.standsFor = in.standsFor * (part.isElement ? in.eachStandsFor : 1);
            }
            if (part.entered > 0) {
                part.eachStandsFor *= part.found.size() / visitedOf(part);
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

    /** How many of the elements that were found of a list were visited, be it as others refer to them. */
    private double visitedOf(Part list) {
        int others = list.found.size() - list.entered;
        int asked = Math.min(others, MOST_ASKED);
        int visitedOfThem = 0;
        for (int other = list.entered; other < list.entered + asked; other++) {
            visitedOfThem += seen.containsKey(choose(list.found, other).object) ? 1 : 0;
        }
        return list.entered + (asked == 0 ? 0 : (double) others * visitedOfThem / asked);
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
            part.size = part.elements.size();
            lists.add(part);
        }
    }

    /**
     * Of more than this, those that are spread evenly from an element that chance says: each is as likely as the others.
     * @return how many elements were looked at, so many at most
     */
    private int findElements(Part list, int most) {
        Collection<?> all = list.elements;
        int size = list.size;
        int looked = Math.min(size, most);
        Iterator<?> next = all instanceof List && all instanceof RandomAccess ? null : all.iterator();
        int among = next == null ? size : Math.min(size, MOST_PASSED);
        long first = looked == 0 ? 0 : ThreadLocalRandom.current().nextLong(among);
        int passed = 0;
        for (int element = 0; element < looked; element++) {
            int place = (int) ((first + element * (long) among) / looked);
            Object found = next == null ? ((List<?>) all).get(place) : null;
            for (; next != null && passed <= place && next.hasNext(); passed++) {
                found = next.next();
            }
            find(found, list, true, list.found);
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
        return object instanceof String || object instanceof Boolean || object instanceof Character || object instanceof Enum
                || object.getClass().isArray() && object.getClass().getComponentType().isPrimitive()
                || (object instanceof Number || object instanceof TemporalAccessor || object instanceof Date
                        || object instanceof UUID) && object.getClass().getName().startsWith("java.");
    }
}
