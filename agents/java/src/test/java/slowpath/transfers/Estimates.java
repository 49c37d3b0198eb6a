/*
 * Makes random responses and some that are hard, looks at each of those that are too large many times, and prints which
 * estimates are off by more than chance and a fiftieth: how many objects of a class there are, and how many of these are
 * marked, as the objects say that would be watched. And which are too large that should be seen whole. Last how many were.
 *   java slowpath.transfers.Estimates
 */
package slowpath.transfers;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;
import java.util.function.IntFunction;

public final class Estimates {
    private static class Item {
        Object first;
        Object second;
        boolean isMarked;

        Item refer(Object one, Object other) {
            first = one;
            second = other;
            return this;
        }
    }

    private static final class Order extends Item {}

    private static final class Deepest extends Item {}

    /** The sum of values and of their squares, for the mean and how far chance may take it. */
    private static final class Sums {
        double sum;
        double squares;

        void add(double value) {
            sum += value;
            squares += value * value;
        }

        boolean isOff(double expected) {
            double mean = sum / TIMES;
            double error = Math.sqrt(Math.max(0, squares / TIMES - mean * mean) / TIMES);
            return Math.abs(mean - expected) > 5 * error + 0.02 * expected + 1;
        }
    }

    private static final int RANDOM = 60;
    private static final int LARGEST = 60_000;
    private static final int DEEPEST = 6;
    private static final int TIMES = 300;
    private static final int WHOLE = 2000;

    private static final ClassLayouts LAYOUTS = new ClassLayouts(new Packages(List.of(Estimates.class.getName()), List.of()));
    private static final Function<Class<?>, DataClass> CLASSES = new DataClass.Known(LAYOUTS)::of;
    private static int tooLarge;

    private Estimates() {}

    /** Of about so many objects: one with nothing in it, some that refer to others, or many in a list, alike or not. */
    private static Object random(Random random, int objects, int depth) {
        int kind = objects == 1 || depth == DEEPEST ? 0 : random.nextInt(10);
        if (kind == 0) {
            return new Item();
        }
        if (kind < 3) {
            return new Order().refer(random(random, objects - 1, depth + 1), null);
        }
        if (kind < 5) {
            Object one = random(random, Math.max(1, objects / 2), depth + 1);
            boolean isTwice = random.nextBoolean();
            return new Item().refer(one, new Order().refer(isTwice ? one : random(random, objects / 2, depth + 1), null));
        }
        int elements = 1 + (int) Math.pow(objects, random.nextDouble());
        int mean = Math.max(1, objects / elements);
        boolean isEven = random.nextBoolean();
        List<Object> list = random.nextBoolean() ? new ArrayList<>() : new LinkedList<>();
        for (int element = 0; element < elements; element++) {
            int share = isEven ? mean : 1 + (int) Math.min(objects, -Math.log(1 - random.nextDouble()) * mean);
            list.add(random(random, share, depth + 1));
        }
        return random.nextInt(4) == 0 ? list.toArray() : list;
    }

    private static List<Object> list(int count, IntFunction<Object> elements) {
        List<Object> list = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            list.add(elements.apply(number));
        }
        return list;
    }

    private static List<Object> items(int count) {
        return list(count, number -> new Item());
    }

    private static Object chain(int count) {
        Object chain = null;
        for (int link = 0; link < count; link++) {
            chain = new Item().refer(chain, null);
        }
        return chain;
    }

    /** An object with a chain of so many, and so many levels of two such ones below it. */
    private static Object deep(int levels, int chain) {
        Object below = levels == 0 ? new Deepest() : list(2, number -> deep(levels - 1, chain));
        return new Order().refer(chain(chain), below);
    }

    /** Each refers to the next one, and maybe to the one before. */
    private static List<Object> stops(int count, boolean bothWays) {
        List<Object> stops = items(count);
        for (int stop = 0; stop < count; stop++) {
            ((Item) stops.get(stop)).refer(stop + 1 < count ? stops.get(stop + 1) : null,
                    bothWays && stop > 0 ? stops.get(stop - 1) : null);
        }
        return stops;
    }

    /** All objects, by class, in the order in which they stand there; of null all, with arrays and lists. */
    private static Map<Class<?>, List<Object>> all(Object response) {
        Map<Class<?>, List<Object>> all = new LinkedHashMap<>();
        all.put(null, new ArrayList<>());
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> open = new ArrayDeque<>(List.of(response));
        while (!open.isEmpty()) {
            Object object = open.removeFirst();
            if (!seen.add(object)) {
                continue;
            }
            all.get(null).add(object);
            Collection<?> within = List.of();
            if (object instanceof Item) {
                within = Arrays.asList(((Item) object).first, ((Item) object).second);
                all.computeIfAbsent(object.getClass(), none -> new ArrayList<>()).add(object);
            } else {
                within = object instanceof Object[] ? Arrays.asList((Object[]) object) : (Collection<?>) object;
            }
            within.stream().filter(one -> one != null).forEach(open::add);
        }
        return all;
    }

    /** @param isFair whether each object of a class is as likely to be watched as the others */
    private static void look(String name, Object response, boolean isFair) {
        Map<Class<?>, List<Object>> all = all(response);
        int parts = all.remove(null).size();
        if (!new Graph(response, Encoding.JSON, CLASSES).tooLarge) {
            return;
        }
        tooLarge++;
        if (parts <= WHOLE) {
            System.out.println(name + ": not seen whole");
        }
        Map<Class<?>, Sums> counts = new HashMap<>();
        Map<Class<?>, Sums> marked = new HashMap<>();
        all.forEach((type, items) -> {
            items.subList(0, items.size() / 2).forEach(item -> ((Item) item).isMarked = true);
            counts.put(type, new Sums());
            marked.put(type, new Sums());
        });
        for (int time = 0; time < TIMES; time++) {
            for (Graph.OfClass ofClass : new Graph(response, Encoding.JSON, CLASSES).classes.values()) {
                Class<?> type = ofClass.one.getClass();
                counts.get(type).add(ofClass.count);
                marked.get(type).add(((Item) ofClass.one).isMarked ? ofClass.count : 0);
            }
        }
        all.forEach((type, items) -> {
            if (counts.get(type).isOff(items.size()) || isFair && marked.get(type).isOff(items.size() / 2)) {
                System.out.printf("%s: %d of %s, as estimated %.0f, marked %.0f%n", name, items.size(),
                        type.getSimpleName(), counts.get(type).sum / TIMES, marked.get(type).sum / TIMES);
            }
        });
    }

    public static void main(String[] arguments) {
        for (int seed = 0; seed < RANDOM; seed++) {
            Random random = new Random(seed);
            look("random " + seed, random(random, 1 + random.nextInt(seed % 2 == 0 ? WHOLE : LARGEST), 0), true);
        }
        List<Object> customers = items(50);
        look("of a few customers", list(5000, order -> new Order().refer(customers.get(order % 50), null)), true);
        look("next", stops(5000, false), false);
        look("before and next", list(1000, number -> stops(5, true)), true);
        for (boolean bothWays : List.of(true, false)) {
            List<Object> groups = new ArrayList<>();
            for (int group = 0; group < 1000; group++) {
                groups.addAll(stops(5, bothWays));
            }
            look("groups", groups, bothWays);
        }
        look("back", list(5000, number -> {
            Item order = new Order();
            return order.refer(new Item().refer(order, null), null);
        }), true);
        look("many of nothing", list(18_000, number -> number % 100 == 0 ? new Item() : null), true);
        look("linked", new LinkedList<>(items(50_000)), true);
        look("a set", new HashSet<>(items(50_000)), true);
        look("deep", list(150, number -> deep(6, 12)), true);
        look("uneven", list(400, number ->
                list(number % 2 == 0 ? 1 : 20, order -> new Order().refer(new Item(), new Deepest()))), true);
        look("one and many", List.of(list(1, number -> new Order().refer(chain(2500), null)), items(5000)), true);
        System.out.println("too large " + tooLarge);
    }
}
