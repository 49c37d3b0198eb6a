/*
 * What one request costs that receives one object, for the benchmark: there are thirty frames between servlet and client,
 * and nothing else is done. Prints the nanoseconds of processor that the whole process takes for each, the median of some
 * rounds: the least would be of one in which so many objects are watched that no more are. The agent's option `remote`
 * names `Single#fetch`.
 *   java load.Single REQUESTS_OF_A_ROUND
 */
package load;

import com.sun.management.OperatingSystemMXBean;
import jakarta.servlet.http.HttpServlet;
import java.lang.management.ManagementFactory;
import java.util.Arrays;

public final class Single {
    private static final int ROUNDS = 9;
    private static final int FRAMES = 30;

    static class Thing {
        int value = 1;
        String text = "t";
    }

    private Single() {}

    static Thing fetch() {
        return new Thing();
    }

    private static Object deep(int frames) {
        return frames == 0 ? fetch().text : deep(frames - 1);
    }

    public static void main(String[] arguments) throws Exception {
        int requests = Integer.parseInt(arguments[0]);
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        HttpServlet server = new HttpServlet(() -> deep(FRAMES));
        long[] each = new long[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            long before = system.getProcessCpuTime();
            for (int request = 0; request < requests; request++) {
                server.service(null);
            }
            each[round] = (system.getProcessCpuTime() - before) / requests;
        }
        Arrays.sort(each);
        System.out.println(each[ROUNDS / 2]);
    }
}
