/*
 * Of a hundred that arrive in each second, some are chosen: prints for several caps how often the first fifty were, and the
 * others. The first second, in which nobody knows how many come, does not count. Then, of one that arrives in each second, how
 * many of a thousand caps choose it once some seconds have passed since more came.
 *   java slowpath.transfers.Caps
 */
package slowpath.transfers;

public final class Caps {
    private static final int ARRIVE = 100;
    private static final int SECONDS = 4;
    private static final int FEW = 4;

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
        System.out.println(chosenAfterMore());
    }

    private static int chosenAfterMore() throws InterruptedException {
        Cap[] caps = new Cap[1000];
        int chosen = 0;
        for (int cap = 0; cap < caps.length; cap++) {
            caps[cap] = new Cap();
            for (int arrived = 0; arrived < FEW; arrived++) {
                caps[cap].isWithin(1);
            }
        }
        for (int second = 0; second <= FEW; second++) {
            Thread.sleep(1010);
            chosen = 0;
            for (Cap cap : caps) {
                chosen += cap.isWithin(1) ? 1 : 0;
            }
        }
        return chosen;
    }
}
