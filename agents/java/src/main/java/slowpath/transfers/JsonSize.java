/*
 * How many bytes a value takes as JSON, about: without escapes and white space. Objects of the application inside
 * count as `{}`, as their fields are counted with their own class.
 */
package slowpath.transfers;

import java.io.File;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.time.Clock;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.Year;
import java.time.ZonedDateTime;
import java.time.temporal.ChronoField;
import java.time.temporal.TemporalAccessor;
import java.util.BitSet;
import java.util.Calendar;
import java.util.Collection;
import java.util.Date;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TimeZone;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.DoubleAccumulator;
import java.util.concurrent.atomic.LongAccumulator;

final class JsonSize {
    private static final int DEEPEST = 8;
    private static final int MOST_MEASURED = 10_000;
    /** As Jackson writes a time of day of a date in Spring Boot, and by itself since version 3: as ISO 8601 has it. */
    private static final int MOMENT = "'2026-01-02T03:04:05.678+00:00'".length();

    private final Elements elements = new Elements();

    private JsonSize() {}

    static long of(Object value) {
        return new JsonSize().of(value, 0);
    }

    private long of(Object value, int depth) {
        if (value == null) {
            return 4;
        }
        if (value instanceof Enum) {
            return JsonEnums.of((Enum<?>) value);
        }
        String type = value.getClass().getName();
        // What the program makes of these classes might be told only by its own code.
        boolean isOfJava = type.startsWith("java.") || type.startsWith("sun.");
        // None that locks to tell its text, as StringBuffer does.
        if (value instanceof String || value instanceof StringBuilder) {
            return 2 + utf8((CharSequence) value);
        }
        if (value instanceof Character) {
            return 2 + utf8(value.toString());
        }
        boolean isNumber = value instanceof Number || value instanceof Boolean || value instanceof AtomicBoolean;
        if (isNumber && !isComputed(value) && (isOfJava || type.startsWith("com.google.gson."))) {
            return ofNumber(value);
        }
        boolean isArray = value.getClass().isArray();
        if (depth == DEEPEST
                && (isArray || value instanceof Collection || value instanceof Map || value instanceof Optional
                || value instanceof AtomicReference || value instanceof Map.Entry)) {
            return 2;
        }
        if (value instanceof byte[]) {
            return 2 + (((byte[]) value).length + 2) / 3 * 4L; // In Base64.
        }
        if (value instanceof ByteBuffer) {
            return 2 + (((ByteBuffer) value).remaining() + 2) / 3 * 4L;
        }
        if (value instanceof char[]) {
            return 2 + utf8(CharBuffer.wrap((char[]) value));
        }
        if (isArray) {
            return inBrackets(elements.sum(Elements.of(value), element -> 1 + of(element, depth + 1)));
        }
        if (value instanceof Year) {
            return value.toString().length();
        }
        if (JsonTree.isNode(type)) {
            return of(JsonTree.content(value), depth);
        }
        if (value instanceof TimeZone && isOfJava) {
            return 2 + ((TimeZone) value).getID().length();
        }
        if (value instanceof InetAddress) {
            return 2 + ((InetAddress) value).getHostAddress().length();
        }
        if (value instanceof Class) {
            return 2 + ((Class<?>) value).getName().length();
        }
        if (value instanceof Charset) {
            return 2 + ((Charset) value).name().length();
        }
        if (value instanceof InetSocketAddress) {
            InetSocketAddress address = (InetSocketAddress) value;
            return 2 + address.getHostString().length() + 1 + String.valueOf(address.getPort()).length();
        }
        if (value instanceof Path && value.getClass().getClassLoader() == null) {
            return 2 + "file://".length() + value.toString().length();
        }
        if (isTime(value)) {
            return 2 + time(value).length();
        }
        if (value instanceof URL) {
            return 2 + length((URL) value);
        }
        if (value instanceof URI || value instanceof File && isOfJava || type.equals("java.sql.Date")
                || type.equals("java.sql.Time")) {
            return 2 + value.toString().length();
        }
        if ((value instanceof Date || value instanceof Calendar) && type.startsWith("java.")) {
            return MOMENT;
        }
        if (Opaque.is(value)) {
            return 2;
        }
        if (value instanceof Collection) {
            return inBrackets(elements.sum((Collection<?>) value, element -> 1 + of(element, depth + 1)));
        }
        if (value instanceof Map) {
            return inBrackets(elements.sum(((Map<?, ?>) value).entrySet(), entry -> 2
                    + key(((Map.Entry<?, ?>) entry).getKey()) + of(((Map.Entry<?, ?>) entry).getValue(), depth + 1)));
        }
        if (value instanceof Map.Entry) {
            Map.Entry<?, ?> entry = (Map.Entry<?, ?>) value;
            return 3 + key(entry.getKey()) + of(entry.getValue(), depth + 1);
        }
        if (value instanceof Optional) {
            return of(((Optional<?>) value).orElse(null), depth + 1);
        }
        if (value instanceof AtomicReference) {
            return of(((AtomicReference<?>) value).get(), depth + 1);
        }
        if (value instanceof OptionalInt) {
            return ofNumber(((OptionalInt) value).stream().boxed().findAny().orElse(null));
        }
        if (value instanceof OptionalLong) {
            return ofNumber(((OptionalLong) value).stream().boxed().findAny().orElse(null));
        }
        if (value instanceof OptionalDouble) {
            return ofNumber(((OptionalDouble) value).stream().boxed().findAny().orElse(null));
        }
        if (value instanceof BitSet && ((BitSet) value).length() > MOST_MEASURED) {
            long last = ((BitSet) value).length() - 1;
            long set = ((BitSet) value).get(0, MOST_MEASURED).cardinality() * last / MOST_MEASURED;
            return 2 + set * (String.valueOf(last).length() + 2);
        }
        return 2 + value.toString().length();
    }

    /** Whether the program gives it what it does to tell its number. */
    static boolean isComputed(Object value) {
        return value instanceof LongAccumulator || value instanceof DoubleAccumulator;
    }

    /** Not what is of other packages below it, nor clocks: these may have parts that are the program's. */
    static boolean isTime(Object value) {
        String type = value.getClass().getName();
        return type.startsWith("java.time.") && type.lastIndexOf('.') == "java.time".length() && !(value instanceof Clock);
    }

    /** Without its handler, which may be the program's. */
    private static long length(URL url) {
        long length = url.getProtocol().length() + 1 + (url.getFile() == null ? 0 : url.getFile().length());
        length += url.getAuthority() == null || url.getAuthority().isEmpty() ? 0 : 2 + url.getAuthority().length();
        return length + (url.getRef() == null ? 0 : 1 + url.getRef().length());
    }

    /** As ISO 8601 has it in JSON: with seconds, and without the name of a zone. */
    private static String time(Object value) {
        Object told = value instanceof ZonedDateTime ? ((ZonedDateTime) value).toOffsetDateTime() : value;
        boolean isOfDay = told instanceof LocalTime || told instanceof LocalDateTime || told instanceof OffsetDateTime;
        return told + (isOfDay && ((TemporalAccessor) told).get(ChronoField.SECOND_OF_MINUTE) == 0
                && ((TemporalAccessor) told).get(ChronoField.NANO_OF_SECOND) == 0 ? ":00" : "");
    }

    /** Of a truth, too. What JSON has no number for is a text. */
    static long ofNumber(Object value) {
        if (value instanceof BigInteger && ((BigInteger) value).bitLength() > MOST_MEASURED) {
            return digits((BigInteger) value);
        }
        if (value instanceof BigDecimal && ((BigDecimal) value).unscaledValue().bitLength() > MOST_MEASURED) {
            return digits(((BigDecimal) value).unscaledValue()) + (((BigDecimal) value).scale() > 0 ? 1 : 0);
        }
        String text = String.valueOf(value);
        return text.endsWith("NaN") || text.endsWith("Infinity") ? 2 + text.length() : text.length();
    }

    private static long digits(BigInteger number) {
        return (number.signum() < 0 ? 2 : 1) + (long) (number.bitLength() * Math.log10(2));
    }

    /** @param elements bytes of all of them, each with a comma */
    private static long inBrackets(long elements) {
        return Math.max(2, 1 + elements);
    }

    /** With quotes. */
    private long key(Object key) {
        boolean isBare = key instanceof Number || key instanceof Boolean;
        return of(key, DEEPEST) + (isBare ? 2 : 0);
    }

    /** Of a long text, its begin stands for all. */
    static long utf8(CharSequence text) {
        int measured = Math.min(text.length(), MOST_MEASURED);
        long more = 0;
        for (int index = 0; index < measured; index++) {
            char character = text.charAt(index);
            more += character < 0x80 ? 0 : character < 0x800 || Character.isSurrogate(character) ? 1 : 2;
        }
        return text.length() + (measured == 0 ? 0 : Math.round((double) more / measured * text.length()));
    }
}
