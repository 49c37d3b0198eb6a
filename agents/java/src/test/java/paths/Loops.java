/*
 * A program that calls ten times in a row for "remote" objects (`paths.Loops#fetch`, option `remote`), again and again, and uses
 * only the last one.
 *   java paths.Loops SECONDS
 */
package paths;

public final class Loops {
    private static final int IN_A_ROW = 10;

    static class Thing {
        int number;
        int value;
    }

    private Loops() {}

    static Thing fetch(int number) {
        Thing thing = new Thing();
        thing.number = number;
        return thing;
    }

    public static void main(String[] arguments) throws InterruptedException {
        long end = System.nanoTime() + 1_000_000_000L * Integer.parseInt(arguments[0]);
        int sum = 0;
        while (System.nanoTime() < end) {
            for (int number = 1; number <= IN_A_ROW; number++) {
                Thing thing = fetch(number);
                if (thing.number == IN_A_ROW) {
                    sum += thing.value;
                }
            }
            Thread.sleep(100);
        }
        for (int collection = 0; collection < 3; collection++) {
            System.gc();
            Thread.sleep(300);
        }
        System.out.println(sum);
    }
}
