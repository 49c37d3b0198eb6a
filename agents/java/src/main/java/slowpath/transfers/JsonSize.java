/*
 * How many bytes a value takes as JSON, about: without escapes and white space. Objects of the application inside
 * count as `{}`, as their fields are counted with their own class.
 */
package slowpath.transfers;

import java.lang.reflect.Array;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;

final class JsonSize {
    private static final int DEEPEST = 8;

    private JsonSize() {}

    static long of(Object value) {
        return of(value, 0);
    }

    private static long of(Object value, int depth) {
        if (value == null) {
            return 4;
        }
        if (value instanceof CharSequence || value instanceof Character) {
            return 2 + utf8(value.toString());
        }
        if (value instanceof Number || value instanceof Boolean) {
            return value.toString().length();
        }
        if (value instanceof Enum) {
            return 2 + ((Enum<?>) value).name().length();
        }
        String type = value.getClass().getName();
        boolean isArray = value.getClass().isArray();
        if (depth == DEEPEST
                && (isArray || value instanceof Collection || value instanceof Map || value instanceof Optional)) {
            return 2;
        }
        if (isArray) {
            long size = 2;
            for (int index = 0; index < Array.getLength(value); index++) {
                size += 1 + of(Array.get(value, index), depth + 1);
            }
            return size;
        }
        if (type.startsWith("java.time.")) {
            return 2 + value.toString().length();
        }
        if (Graph.isOpaque(type)) {
            return 2;
        }
        if (value instanceof Collection) {
            long size = 2;
            for (Object element : (Collection<?>) value) {
                size += 1 + of(element, depth + 1);
            }
            return size;
        }
        if (value instanceof Map) {
            long size = 2;
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                size += 2 + key(entry.getKey()) + of(entry.getValue(), depth + 1);
            }
            return size;
        }
        if (value instanceof Optional) {
            return of(((Optional<?>) value).orElse(null), depth + 1);
        }
        return 2 + value.toString().length();
    }

    /** With quotes. */
    private static long key(Object key) {
        boolean isQuoted = key instanceof CharSequence || key instanceof Enum;
        return of(key, DEEPEST) + (isQuoted ? 0 : 2);
    }

    static long utf8(String text) {
        long bytes = text.length();
        for (int index = 0; index < text.length(); index++) {
            char character = text.charAt(index);
            bytes += character < 0x80 ? 0 : character < 0x800 || Character.isSurrogate(character) ? 1 : 2;
        }
        return bytes;
    }
}
