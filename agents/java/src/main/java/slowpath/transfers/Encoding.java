/*
 * How objects travel, and so how many bytes a field takes on the way: estimates, as the text or message itself is
 * gone when its objects exist. Objects of the application inside count what encloses them, as their fields are
 * counted with their own class. docs/formats/transfers.md defines each.
 */
package slowpath.transfers;

import java.net.InetAddress;
import java.net.URI;
import java.util.Collection;
import java.util.Date;
import java.util.Map;
import java.util.UUID;

enum Encoding {
    /** Without escapes and white space. */
    JSON {
        @Override
        long of(String name, Object value) {
            return name.length() + 4 + JsonSize.of(value);
        }
    },
    /** Columns as text, each after its length, as PostgreSQL sends them; other rows are no columns of this one. */
    ROW {
        @Override
        long of(String name, Object value) {
            if (value == null) {
                return 4;
            }
            if (value instanceof byte[]) {
                return 4 + ((byte[]) value).length;
            }
            boolean isColumn = Elements.of(value) == null
                    && (value instanceof Enum || value.getClass().getName().startsWith("java."));
            return isColumn ? 4 + text(value) : 0;
        }
    },
    /** Fields with tags of one byte; those of their type's default are not sent. */
    PROTOBUF {
        @Override
        long of(String name, Object value) {
            if (value == null || isDefault(value)) {
                return 0;
            }
            Collection<?> elements = Elements.of(value);
            if (elements == null) {
                return 1 + withLength(value);
            }
            boolean isPacked = !elements.isEmpty() && elements.iterator().next() instanceof Number;
            return (isPacked ? 2 : 0) + new Elements().sum(elements, element ->
                    element instanceof Number ? number((Number) element) : 1 + withLength(element));
        }

        private boolean isDefault(Object value) {
            return value instanceof Number && ((Number) value).doubleValue() == 0 || Boolean.FALSE.equals(value)
                    || "".equals(value) || size(value) == 0;
        }

        /** Of bytes or a list of the library; -1: it is neither. */
        private long size(Object value) {
            boolean isLibrary = value.getClass().getName().startsWith("com.google.protobuf.");
            Object size = isLibrary ? Asked.of(value, "size") : null;
            return size instanceof Integer ? (Integer) size : -1;
        }

        private long withLength(Object value) {
            if (value instanceof Boolean) {
                return 1;
            }
            if (value instanceof Number) {
                return number((Number) value);
            }
            long length = value instanceof CharSequence ? text(value) : Math.max(size(value), 0);
            return varint(length) + length;
        }

        private long number(Number value) {
            return value instanceof Double ? 8 : value instanceof Float ? 4 : varint(value.longValue());
        }

        private long varint(long value) {
            return Math.max(1, (64 - Long.numberOfLeadingZeros(value) + 6) / 7);
        }
    },
    /** MongoDB's: type, name, value. */
    BSON {
        @Override
        long of(String name, Object value) {
            return name.length() + 2 + value(value, 0, new Elements());
        }

        private long value(Object value, int depth, Elements measured) {
            if (value == null) {
                return 0;
            }
            if (value instanceof Boolean || value instanceof Byte) {
                return 1;
            }
            if (value instanceof Integer || value instanceof Short) {
                return 4;
            }
            String type = value.getClass().getName();
            if (value instanceof Number || value instanceof Date || type.startsWith("java.time.")) {
                return 8;
            }
            if (value instanceof byte[]) {
                return 5 + ((byte[]) value).length;
            }
            if (type.equals("org.bson.types.ObjectId")) {
                return 12;
            }
            if (value instanceof Map && depth < DEEPEST && !Opaque.is(value)) {
                return 5 + measured.sum(((Map<?, ?>) value).entrySet(), entry -> text(((Map.Entry<?, ?>) entry).getKey())
                        + 2 + value(((Map.Entry<?, ?>) entry).getValue(), depth + 1, measured));
            }
            Collection<?> elements = depth < DEEPEST ? Elements.of(value) : null;
            if (elements != null) {
                // Their names are their numbers.
                long names = elements.size();
                for (long more = 10; more < elements.size(); more *= 10) {
                    names += elements.size() - more;
                }
                return 5 + names + measured.sum(elements, element -> 2 + value(element, depth + 1, measured));
            }
            return 5 + text(value);
        }
    };

    private static final int DEEPEST = 8;

    /** How many bytes a field of this name and value takes. */
    abstract long of(String name, Object value);

    /** UTF-8 bytes of what a value of Java is as text: of those that tell it without locks and code of the application. */
    private static long text(Object value) {
        if (value instanceof Enum) {
            return ((Enum<?>) value).name().length();
        }
        if (value instanceof String || value instanceof StringBuilder) {
            return JsonSize.utf8((CharSequence) value);
        }
        String type = value.getClass().getName();
        if (value instanceof Number && type.startsWith("java.") && !JsonSize.isComputed(value)) {
            return JsonSize.ofNumber(value);
        }
        boolean isValue = value instanceof Character || value instanceof Boolean || value instanceof UUID
                || value instanceof Class || value instanceof URI || value instanceof InetAddress
                || value instanceof Date && type.startsWith("java.sql.") || JsonSize.isTime(value);
        return isValue ? JsonSize.utf8(value.toString()) : 0;
    }
}
