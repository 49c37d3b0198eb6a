/*
 * A program that receives more "remote" objects than the agent looks up each call path of (`paths.Many#fetch`, its option
 * `remote`): a tenth of them from one place, the others from another. Says how many each has received.
 *   java paths.Many SECONDS
 */
package paths;

public final class Many {
    private static final int IN_A_MILLISECOND = 10;

    static class Thing {
        int value;
    }

    private Many() {}

    static Thing fetch() {
        return new Thing();
    }

    static Thing often() {
        return fetch();
    }

    static Thing seldom() {
        return fetch();
    }

    public static void main(String[] arguments) throws InterruptedException {
        long end = System.nanoTime() + 1_000_000_000L * Integer.parseInt(arguments[0]);
        long rounds = 0;
        for (; System.nanoTime() < end; rounds++) {
            seldom();
            for (int call = 1; call < IN_A_MILLISECOND; call++) {
                often();
            }
            Thread.sleep(1);
        }
        System.out.println(rounds + " " + (IN_A_MILLISECOND - 1) * rounds);
    }
}
