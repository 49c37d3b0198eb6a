/*
 * Prints what large values take by each encoding, a line each, and last how many elements of a million are measured.
 *   java slowpath.transfers.Sizes
 */
package slowpath.transfers;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Timestamp;
import java.time.Clock;
import java.time.DayOfWeek;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.Year;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.chrono.JapaneseDate;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.Date;
import java.util.GregorianCalendar;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TimeZone;
import java.util.UUID;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

public final class Sizes {
    private Sizes() {}

    private static final class Numbers extends ArrayList<Integer> {
        Numbers() {
            super(List.of(1, 2, 3));
        }
    }

    /** What it has is not to be looked at, as that would call its own methods. */
    private static final class Shown extends ArrayList<Integer> {
        @Override
        public int size() {
            throw new IllegalStateException();
        }
    }

    public static void main(String[] arguments) {
        double[] doubles = new double[200_000];
        Arrays.fill(doubles, 1.5);
        List<Integer> numbers = Collections.nCopies(1000, 7);
        print(Encoding.JSON, new byte[10_000_000]);
        print(Encoding.JSON, doubles);
        print(Encoding.JSON, Collections.nCopies(1000, numbers));
        print(Encoding.JSON, IntStream.range(0, 1_000_000).toArray());
        print(Encoding.JSON, IntStream.range(100_000, 900_000).boxed()
                .collect(Collectors.toMap(Function.identity(), number -> true)));
        print(Encoding.JSON, Map.of("é".repeat(100_000), numbers));
        print(Encoding.JSON, IntStream.range(0, 400).mapToObj(row -> Collections.nCopies(1 + row / 10, 7))
                .collect(Collectors.toList()));
        print(Encoding.ROW, new byte[10_000_000]);
        print(Encoding.PROTOBUF, Collections.nCopies(100_000, "text"));
        print(Encoding.BSON, Collections.nCopies(200_000, 7));
        print(Encoding.JSON, List.of(new Date(), new Timestamp(0), new GregorianCalendar(),
                java.sql.Date.valueOf("2026-01-02")));
        for (Object value : List.of(Year.of(2026), "text".toCharArray(), URI.create("http://shop/1"), OptionalInt.of(17),
                OptionalLong.empty(), OptionalDouble.of(1.5), List.of(), new int[][] {{1, 2}, {3, 4, 5}},
                Map.of(LocalDate.of(2026, 1, 2), 5), Double.NaN, new AtomicBoolean(true), new File("/tmp/x"),
                TimeZone.getTimeZone("Europe/Berlin"), String.class, InetAddress.getLoopbackAddress(),
                ByteBuffer.wrap(new byte[4]), new AtomicReference<>(5), new Numbers(), new Shown(),
                Path.of("/tmp/x"), StandardCharsets.UTF_8, Map.entry("key", 5), LocalDateTime.of(2026, 1, 2, 3, 4),
                LocalTime.of(3, 4, 5), ZonedDateTime.of(2026, 1, 2, 3, 4, 5, 678_000_000, ZoneId.of("Europe/Berlin")),
                DayOfWeek.MONDAY)) {
            print(Encoding.JSON, value);
        }
        print(Encoding.BSON, new AbstractMap<Object, Object>() {
            @Override
            public Set<Entry<Object, Object>> entrySet() {
                throw new IllegalStateException();
            }
        });
        print(Encoding.JSON, Collections.unmodifiableList(new Shown()));
        Map<Object, Object> weak = new WeakHashMap<>(Map.of("key", 5));
        // What may have parts that are the program's.
        List<Object> composed = List.of(Clock.systemUTC(), new LongAccumulator(Long::max, 0), JapaneseDate.now());
        for (Object value : List.of(weak, weak.keySet(), weak.entrySet(), Collections.unmodifiableMap(weak))) {
            print(Encoding.JSON, value);
        }
        composed.forEach(value -> print(Encoding.JSON, value));
        composed.forEach(value -> print(Encoding.ROW, value));
        for (Object value : List.of("text", new StringBuilder("text"), UUID.randomUUID(), BigDecimal.valueOf(1.5),
                Timestamp.valueOf("2026-01-02 03:04:05"), new StringBuffer("text"), new StringWriter(),
                new ByteArrayOutputStream())) {
            print(Encoding.ROW, value);
        }
        BitSet bits = new BitSet();
        bits.set(0, 1_000_000);
        print(Encoding.JSON, BigInteger.TEN.pow(100_000).negate());
        print(Encoding.ROW, new BigDecimal(BigInteger.TEN.pow(100_000), 5));
        print(Encoding.JSON, bits);
        AtomicInteger measured = new AtomicInteger();
        System.out.println(new Elements().sum(Collections.nCopies(1_000_000, 7), number -> {
            measured.incrementAndGet();
            return (Integer) number;
        }) + " of " + measured);
    }

    private static void print(Encoding encoding, Object value) {
        System.out.println(encoding.of("name", value));
    }
}
