/*
 * Of a hundred that arrive in each second, some are chosen: prints for several caps how often the first fifty were, and the
 * others. The first second, in which nobody knows how many come, does not count.
 *   java slowpath.transfers.Caps
 */
package slowpath.transfers;

public final class Caps {
    private static final int ARRIVE = 100;
    private static final int SECONDS = 4;

    private Caps() {}

    public static void main(String[] arguments) throws InterruptedException {
        for (int perSecond : new int[] {1, 20}) {
            Cap[] caps = new Cap[1000];
            for (int cap = 0; cap < caps.length; cap++) {
                caps[cap] = new Cap();
            }
            int[] chosen = new int[2];
            for (int second = 0; second < SECONDS; second++) {
                Thread.sleep(1010);
                for (int arrived = 0; arrived < ARRIVE; arrived++) {
                    for (Cap cap : caps) {
                        if (cap.isWithin(perSecond) && second > 0) {
                            chosen[2 * arrived / ARRIVE]++;
                        }
                    }
                }
            }
            System.out.println(chosen[0] + " " + chosen[1]);
        }
    }
}
