/*
 * Receives collections, maps and texts that are read under a lock, while another thread has all of these.
 *   java corners.Locks RESPONSES
 */
package corners;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Stack;
import java.util.Vector;
import java.util.concurrent.CountDownLatch;

public final class Locks {
    static final class Item {
        int number = 1;
    }

    static final class Holder {
        final Object value;

        Holder(Object value) {
            this.value = value;
        }
    }

    static volatile Object sink;

    private Locks() {}

    static Object fetch(Object locked) {
        return locked;
    }

    static Holder fetchHolder(Object locked) {
        return new Holder(locked);
    }

    private static <C extends Collection<Item>> C added(C items) {
        items.add(new Item());
        return items;
    }

    private static Map<Object, Object> put(Map<Object, Object> map) {
        map.put("a", new Item());
        return map;
    }

    private static void have(List<Object> locks, CountDownLatch hasAll) {
        if (locks.isEmpty()) {
            hasAll.countDown();
            while (true) {
                try {
                    Thread.sleep(1000);
                } catch (InterruptedException cause) {
                    return;
                }
            }
        }
        synchronized (locks.get(0)) {
            have(locks.subList(1, locks.size()), hasAll);
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        List<Item> list = Collections.synchronizedList(added(new ArrayList<>()));
        Map<Object, Object> map = Collections.synchronizedMap(put(new HashMap<>()));
        Map<Object, Object> table = put(new Hashtable<>());
        List<Object> locks = List.of(list, map, table, added(new Vector<>()), added(new Stack<>()), put(new Properties()),
                new StringBuffer("text"));
        List<Object> received = new ArrayList<>(locks);
        received.addAll(List.of(Collections.unmodifiableList(list), map.values(), table.values(),
                Collections.unmodifiableMap(map)));
        CountDownLatch hasAll = new CountDownLatch(1);
        Thread other = new Thread(() -> have(locks, hasAll));
        other.setDaemon(true);
        other.start();
        hasAll.await();
        for (int response = Integer.parseInt(arguments[0]); response > 0; response--) {
            for (Object locked : received) {
                sink = fetch(locked);
                sink = fetchHolder(locked);
            }
        }
        System.out.println("received " + received.size());
    }
}
