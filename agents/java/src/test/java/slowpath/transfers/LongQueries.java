/*
 * Prints how many times as long the agent takes for a query in SQL of eight times as many parts, and for one that is a
 * thousand times as long as what is read; which queries are kept; and how many characters of those that are like others.
 *   java slowpath.transfers.LongQueries
 */
package slowpath.transfers;

import java.util.Collections;

public final class LongQueries {
    private static final int RUNS = 20;

    private LongQueries() {}

    private static String union(int parts) {
        return String.join(" union all ", Collections.nCopies(parts,
                "select id, name, price, state, created_at from orders where customer = 17 and place in (1, 2)"));
    }

    /** The shortest time of some: what else the machine does makes it longer only. */
    private static double nanoseconds(String query) {
        long shortest = Long.MAX_VALUE;
        for (int run = 0; run < RUNS; run++) {
            long begin = System.nanoTime();
            Sql.read(query);
            shortest = Math.min(shortest, System.nanoTime() - begin);
        }
        return shortest;
    }

    /** Whether it need not be read again. */
    private static boolean isKept(String query) {
        return Sql.endpoint(query) == Sql.endpoint(query);
    }

    public static void main(String[] arguments) {
        nanoseconds(union(80)); // Until the code is compiled.
        double ofMany = nanoseconds(union(80));
        System.out.println(ofMany / nanoseconds(union(10)));
        System.out.println(nanoseconds(union(100_000)) / ofMany);
        System.out.println((isKept(union(10)) ? "short" : "") + (isKept(union(200)) ? "long" : ""));
        long characters = 0;
        for (int number = 0; number < 1000; number++) {
            String query = union(80) + number;
            characters += isKept(query) ? query.length() : 0;
        }
        System.out.println(characters);
    }
}
