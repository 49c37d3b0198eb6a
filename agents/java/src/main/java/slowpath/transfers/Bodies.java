/*
 * Which texts came over the network: bodies of answers, by their identity, as long as they exist. So a parser
 * that is given one of them makes remote objects, and one that reads a file of configuration does not.
 */
package slowpath.transfers;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

final class Bodies {
    private static final Map<Body, Endpoint> KNOWN = new ConcurrentHashMap<>();
    private static final ReferenceQueue<Object> GONE = new ReferenceQueue<>();

    private Bodies() {}

    static void remember(Object body, Endpoint endpoint) {
        for (Reference<?> gone = GONE.poll(); gone != null; gone = GONE.poll()) {
            KNOWN.remove(gone);
        }
        KNOWN.put(new Body(body), endpoint);
    }

    /** Null: it did not come over the network, as far as is known. */
    static Endpoint endpointOf(Object body) {
        return KNOWN.isEmpty() ? null : KNOWN.get(new Body(body));
    }

    private static final class Body extends WeakReference<Object> {
        private final int hash;

        Body(Object body) {
            super(body, GONE);
            hash = System.identityHashCode(body);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            return this == other || other instanceof Body && get() != null && get() == ((Body) other).get();
        }
    }
}
