/*
 * Makes random responses, looks at each of those that are too large many times, and prints which estimates are off by more
 * than chance and a fiftieth: how many objects of a class there are, and how many of these are marked, as the objects say
 * that would be watched. Last how many responses were too large.
 *   java slowpath.transfers.Estimates RESPONSES
 */
package slowpath.transfers;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;

public final class Estimates {
    private static class Item {
        boolean isMarked;
    }

    private static final class Order extends Item {
        Object goods;
    }

    private static final class Shop extends Item {
        Object orders;
        Object address;
        Object owner;
    }

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

    private static final int LARGEST = 60_000;
    private static final int DEEPEST = 6;
    private static final int TIMES = 300;

    private Estimates() {}

    /** Of about so many objects: one with nothing in it, some that refer to others, or many in a list, alike or not. */
    private static Object make(Random random, int objects, int depth) {
        int kind = objects == 1 || depth == DEEPEST ? 0 : random.nextInt(10);
        if (kind == 0) {
            return new Item();
        }
        if (kind < 3) {
            Order order = new Order();
            order.goods = make(random, objects - 1, depth + 1);
            return order;
        }
        if (kind < 5) {
            Shop shop = new Shop();
            int each = Math.max(1, objects / 3);
            shop.orders = make(random, each, depth + 1);
            shop.address = make(random, each, depth + 1);
            shop.owner = random.nextBoolean() ? shop.address : make(random, each, depth + 1);
            return shop;
        }
        int elements = 1 + (int) Math.pow(objects, random.nextDouble());
        int mean = Math.max(1, objects / elements);
        boolean isEven = random.nextBoolean();
        List<Object> list = random.nextBoolean() ? new ArrayList<>() : new LinkedList<>();
        for (int element = 0; element < elements; element++) {
            int share = isEven ? mean : 1 + (int) Math.min(objects, -Math.log(1 - random.nextDouble()) * mean);
            list.add(make(random, share, depth + 1));
        }
        return random.nextInt(4) == 0 ? list.toArray() : list;
    }

    /** All objects, by class, in the order in which they stand there. */
    private static Map<Class<?>, List<Item>> all(Object response) {
        Map<Class<?>, List<Item>> all = new LinkedHashMap<>();
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> open = new ArrayDeque<>(List.of(response));
        while (!open.isEmpty()) {
            Object object = open.removeFirst();
            if (!seen.add(object)) {
                continue;
            }
            if (object instanceof Object[]) {
                Collections.addAll(open, (Object[]) object);
            } else if (object instanceof Collection) {
                open.addAll((Collection<?>) object);
            } else {
                all.computeIfAbsent(object.getClass(), none -> new ArrayList<>()).add((Item) object);
            }
            if (object instanceof Order) {
                open.add(((Order) object).goods);
            } else if (object instanceof Shop) {
                open.addAll(List.of(((Shop) object).orders, ((Shop) object).address, ((Shop) object).owner));
            }
        }
        return all;
    }

    /** @return whether it is too large */
    private static boolean look(long seed, Object response, Function<Class<?>, DataClass> dataClasses) {
        if (!new Graph(response, Encoding.JSON, dataClasses).tooLarge) {
            return false;
        }
        Map<Class<?>, List<Item>> all = all(response);
        Map<Class<?>, Sums> counts = new HashMap<>();
        Map<Class<?>, Sums> marked = new HashMap<>();
        for (Map.Entry<Class<?>, List<Item>> ofClass : all.entrySet()) {
            ofClass.getValue().subList(0, ofClass.getValue().size() / 2).forEach(item -> item.isMarked = true);
            counts.put(ofClass.getKey(), new Sums());
            marked.put(ofClass.getKey(), new Sums());
        }
        for (int time = 0; time < TIMES; time++) {
            for (Graph.OfClass ofClass : new Graph(response, Encoding.JSON, dataClasses).classes.values()) {
                Item one = (Item) ofClass.one;
                counts.get(one.getClass()).add(ofClass.count);
                marked.get(one.getClass()).add(one.isMarked ? ofClass.count : 0);
            }
        }
        all.forEach((type, items) -> {
            if (counts.get(type).isOff(items.size()) || marked.get(type).isOff(items.size() / 2)) {
                System.out.printf("response %d: %d of %s, as estimated %.0f, marked %.0f%n", seed, items.size(),
                        type.getSimpleName(), counts.get(type).sum / TIMES, marked.get(type).sum / TIMES);
            }
        });
        return true;
    }

    public static void main(String[] arguments) {
        Packages packages = new Packages(List.of(Estimates.class.getName()), List.of());
        DataClass.Known known = new DataClass.Known(new ClassLayouts(packages));
        int tooLarge = 0;
        for (int seed = 0; seed < Integer.parseInt(arguments[0]); seed++) {
            Random random = new Random(seed);
            Object response = make(random, 1 + random.nextInt(LARGEST), 0);
            tooLarge += look(seed, response, known::of) ? 1 : 0;
        }
        System.out.println("too large " + tooLarge);
    }
}
