// Probes in a real Java program that is switched and read from outside by tests/test.sh: a line on its input is one step, and
// its answer the end of the step. Says with the probe being off what it would say without one.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import slowpath.probes.Probe;

public final class ProbesTest {
    private static final Probe LATENCY = new Probe(Probe.Type.LAT, 7, 1, "query");
    private static final Probe COUNT = new Probe(Probe.Type.CNT, 8, 1000, "many");
    private static final Probe FAULTS = new Probe(Probe.Type.FLT, 9);
    private static final Probe DEPTHS = new Probe(Probe.Type.SNAPSHOT, 10, 1, "depths");

    public static void main(String[] arguments) throws Exception {
        BufferedReader steps = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("counter " + Probe.setCounter(0, 0x2e, 0x41) + " " + Probe.setCounter(99, 1, 1));
        while (steps.readLine() != null) {
            long begun = LATENCY.begin();
            long inside = FAULTS.begin();
            for (int turn = 0; turn < 100_000; turn++) { // compiled: the switch must be seen there, too
                COUNT.end(COUNT.begin());
            }
            FAULTS.end(inside);
            LATENCY.end(begun);
            DEPTHS.snapshot(1, -1, Long.MAX_VALUE);
            System.out.println("on " + LATENCY.isOn() + " " + COUNT.isOn());
        }
    }
}
