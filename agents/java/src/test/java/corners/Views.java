/*
 * Receives what java.util makes of other collections and maps: of its own ones, which hold two items each, and of the
 * program's, whose methods nobody but the program may call. Prints how often somebody did.
 *   java corners.Views RESPONSES
 */
package corners;

import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.AbstractList;
import java.util.AbstractMap;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

public final class Views {
    static final class Item implements Comparable<Item> {
        final int number;

        Item(int number) {
            this.number = number;
        }

        @Override
        public int compareTo(Item other) {
            calls++;
            return Integer.compare(number, other.number);
        }
    }

    static final class Lists extends AbstractList<Item> {
        @Override
        public Item get(int index) {
            throw called();
        }

        @Override
        public int size() {
            if (isOpen) {
                return 2;
            }
            throw called();
        }

        @Override
        public Iterator<Item> iterator() {
            throw called();
        }
    }

    static final class Maps extends AbstractMap<String, Item> {
        @Override
        public Set<Entry<String, Item>> entrySet() {
            throw called();
        }
    }

    static final class Sorted extends TreeSet<Item> {
        @Override
        public Iterator<Item> iterator() {
            throw called();
        }
    }

    /** A set that is made of it has the keys that it tells. */
    static final class SortedMaps extends TreeMap<Item, Boolean> {
        @Override
        public NavigableSet<Item> navigableKeySet() {
            return new Sorted();
        }
    }

    /** Is asked for its elements by what is the reverse of it, since Java 21. */
    static final class Deques extends ArrayDeque<Item> {
        @Override
        public Iterator<Item> descendingIterator() {
            throw called();
        }
    }

    static final class Numbers extends Number implements CharSequence {
        @Override
        public int intValue() {
            throw called();
        }

        @Override
        public long longValue() {
            throw called();
        }

        @Override
        public float floatValue() {
            throw called();
        }

        @Override
        public double doubleValue() {
            throw called();
        }

        @Override
        public int length() {
            throw called();
        }

        @Override
        public char charAt(int index) {
            throw called();
        }

        @Override
        public CharSequence subSequence(int begin, int end) {
            throw called();
        }

        @Override
        public String toString() {
            throw called();
        }
    }

    /** Is asked by the clock that is so much later. */
    static final class Clocks extends Clock {
        @Override
        public ZoneId getZone() {
            throw called();
        }

        @Override
        public Clock withZone(ZoneId zone) {
            throw called();
        }

        @Override
        public Instant instant() {
            throw called();
        }

        @Override
        public String toString() {
            throw called();
        }
    }

    static final class Places extends URLStreamHandler {
        @Override
        protected URLConnection openConnection(URL url) {
            throw called();
        }

        @Override
        protected void parseURL(URL url, String text, int begin, int end) {
            setURL(url, "own", "host", -1, "host", null, null, null, null);
        }

        @Override
        protected String toExternalForm(URL url) {
            throw called();
        }
    }

    /** What is received with a field that has it. */
    static final class Holder {
        final Object value;

        Holder(Object value) {
            this.value = value;
        }
    }

    static int calls;
    /** Whether the program looks at its own lists now. */
    static boolean isOpen = true;
    static volatile Object sink;

    private Views() {}

    static IllegalStateException called() {
        calls++;
        return new IllegalStateException("not in a transaction");
    }

    static Object fetchOwn(Object own) {
        return own;
    }

    static Holder fetchHolder(Object own) {
        return new Holder(own);
    }

    static Object fetch(Object view) {
        return view;
    }

    private static Map<String, Item> put(Map<String, Item> map) {
        map.put("a", new Item(1));
        map.put("b", new Item(2));
        return map;
    }

    private static <C extends Collection<Item>> C added(C items) {
        items.add(new Item(1));
        items.add(new Item(2));
        return items;
    }

    /** As it is before Java 21. */
    private static Object reversed(Object many, Class<?> type) {
        try {
            return type.getMethod("reversed").invoke(many);
        } catch (ReflectiveOperationException cause) {
            return many;
        }
    }

    public static void main(String[] arguments) throws MalformedURLException {
        List<Object> own = List.of(new Lists(), new Maps(), new Numbers(), Collections.unmodifiableList(new Lists()),
                Collections.unmodifiableCollection(new Lists()), Collections.synchronizedList(new Lists()),
                Collections.checkedList(new Lists(), Item.class), new Lists().subList(0, 2), new Maps().keySet(),
                Collections.unmodifiableList(Collections.synchronizedList(new Lists())), new Maps().values(),
                Collections.unmodifiableMap(new Maps()), Collections.synchronizedMap(new Maps()),
                Collections.checkedMap(new Maps(), String.class, Item.class),
                Collections.newSetFromMap(new SortedMaps()), reversed(new Deques(), Deque.class),
                Clock.offset(new Clocks(), Duration.ofDays(1)), new URL("own", "host", -1, "/file", new Places()),
                new URL(null, "own:", new Places()));
        TreeMap<Item, Item> sorted = new TreeMap<>();
        added(new ArrayList<Item>()).forEach(item -> sorted.put(item, item));
        List<Object> views = List.of(new ArrayList<>(added(new ArrayList<>())), List.of(new Item(1), new Item(2)),
                Collections.unmodifiableList(added(new ArrayList<>())),
                Collections.unmodifiableCollection(Collections.unmodifiableList(added(new LinkedList<>()))),
                Collections.checkedList(added(new ArrayList<>()), Item.class), added(new LinkedList<>()).subList(0, 2),
                Collections.asLifoQueue(added(new ArrayDeque<>())), added(new ArrayList<>()).subList(0, 2),
                added(new HashSet<>()), List.of(new Item(0), new Item(1), new Item(2)).subList(1, 3),
                put(new HashMap<>()).values(), put(new HashMap<>()).entrySet(), put(new TreeMap<>()).entrySet(),
                List.of(Map.entry("a", new Item(1)), new AbstractMap.SimpleEntry<>("b", new Item(2))),
                added(new TreeSet<>()), Collections.unmodifiableSortedSet(added(new TreeSet<>())),
                added(Collections.newSetFromMap(new IdentityHashMap<>())), put(new ConcurrentHashMap<>()).values(),
                put(new TreeMap<>()).values(), Map.of("a", new Item(1), "b", new Item(2)).values(), sorted.keySet(),
                Collections.unmodifiableMap(put(new HashMap<>())), reversed(added(new ArrayList<>()), List.class),
                reversed(added(new ArrayDeque<>()), Deque.class), reversed(added(new LinkedList<>()), LinkedList.class),
                reversed(added(new LinkedHashSet<>()), LinkedHashSet.class),
                reversed(put(new LinkedHashMap<>()), LinkedHashMap.class));
        Object part = sorted.headMap(new Item(5));
        isOpen = false;
        calls = 0;
        for (int response = Integer.parseInt(arguments[0]); response > 0; response--) {
            for (Object value : own) {
                sink = fetchOwn(value);
                sink = fetchHolder(value);
            }
            for (Object value : views) {
                sink = fetch(value);
            }
            sink = fetchHolder(part);
        }
        System.out.println("calls " + calls + ", views " + views.size());
    }
}
