/*
 * What is known of objects of others, by their identity and as long as they exist: from which endpoint a text
 * came, a query asks or a cursor reads, and over which call path something is waited for. So a parser that is
 * given the body of an answer makes remote objects, and one that reads a file of configuration does not.
 */
package slowpath.transfers;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

final class Known<T> {
    private final Map<Identity, T> known = new ConcurrentHashMap<>();
    private final ReferenceQueue<Object> gone = new ReferenceQueue<>();

    void remember(Object object, T what) {
        for (Reference<?> forgotten = gone.poll(); forgotten != null; forgotten = gone.poll()) {
            known.remove(forgotten);
        }
        known.put(new Identity(object, gone), what);
    }

    /** Null: nothing is. */
    T of(Object object) {
        return object == null || known.isEmpty() ? null : known.get(new Identity(object, null));
    }

    private static final class Identity extends WeakReference<Object> {
        private final int hash;

        Identity(Object object, ReferenceQueue<Object> gone) {
            super(object, gone);
            hash = System.identityHashCode(object);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            return this == other || other instanceof Identity && get() != null && get() == ((Identity) other).get();
        }
    }
}
