// What a probe costs a program in Java, on and off; switched by tests/bench.sh, which reads its process number and then
// answers with a line for each measurement.
import slowpath.probes.Probe;

public final class Cost {
    private static final int TURNS = 100_000;
    private static final Probe LATENCY = new Probe(Probe.Type.LAT, 1);

    private static double nanoseconds() {
        long best = Long.MAX_VALUE;
        for (int round = 0; round < 50; round++) {
            long begin = System.nanoTime();
            for (int turn = 0; turn < TURNS; turn++) {
                LATENCY.end(LATENCY.begin());
            }
            best = Math.min(best, System.nanoTime() - begin);
        }
        return (double) best / TURNS;
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println(ProcessHandle.current().pid());
        while (System.in.read() > 0) {
            System.out.printf("Java, %s: begin and end %.1f ns%n", LATENCY.isOn() ? "on" : "off", nanoseconds());
        }
    }
}
