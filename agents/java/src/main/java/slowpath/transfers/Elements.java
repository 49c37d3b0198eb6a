/*
 * What an array or a collection has, of which some elements stand for all where their size is asked for: the
 * application's thread waits for it. They are spread evenly where they can be had by number, else the first ones.
 */
package slowpath.transfers;

import java.lang.reflect.Array;
import java.util.AbstractList;
import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.RandomAccess;
import java.util.function.ToLongFunction;

final class Elements {
    /** So many are measured of a value, those inside of others, too. */
    private static final int MOST_MEASURED = 500;

    private int left = MOST_MEASURED;

    /** Null: the value is neither. What must not be looked into has none. */
    static Collection<?> of(Object value) {
        if (value instanceof Map || value instanceof Collection && Opaque.is(value)) {
            return Collections.emptyList();
        }
        if (value instanceof Collection) {
            return (Collection<?>) value;
        }
        return value.getClass().isArray() ? new OfArray(value) : null;
    }

    /** What all of them take, each as much as this says. */
    long sum(Collection<?> elements, ToLongFunction<Object> size) {
        long count = elements.size();
        long most = Math.min(left, count);
        List<?> spread = elements instanceof RandomAccess ? (List<?>) elements : null;
        Iterator<?> next = elements.iterator();
        long sum = 0;
        long measured = 0;
        for (; measured < most && left > 0 && next.hasNext(); measured++) {
            left--;
            // What is inside the others shall be measured as well.
            long others = most - measured - 1;
            int share = (int) ((left - others) / (others + 1));
            int rest = left - share;
            left = Math.max(1, share);
            sum += size.applyAsLong(spread == null ? next.next() : spread.get((int) (measured * count / most)));
            left = rest + Math.min(share, left);
        }
        return measured == 0 ? 0 : Math.round((double) sum / measured * count);
    }

    private static final class OfArray extends AbstractList<Object> implements RandomAccess {
        private final Object array;

        OfArray(Object array) {
            this.array = array;
        }

        @Override
        public Object get(int index) {
            return Array.get(array, index);
        }

        @Override
        public int size() {
            return Array.getLength(array);
        }
    }
}
