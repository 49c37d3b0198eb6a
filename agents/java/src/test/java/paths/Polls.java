/*
 * A program that asks for "remote" objects (`paths.Polls#fetch`, option `remote`), and gets none so many times, or only what is
 * not its own, or a count; then one each time. Or gets one at one place ten times a second, and at another one none, much more often.
 *   java paths.Polls nothing|others|count TIMES
 *   java paths.Polls both SECONDS
 */
package paths;

import co.elastic.clients.elasticsearch.core.CountResponse;
import java.util.List;

public final class Polls {
    private static final int LATER = 2000;

    static class Thing {
        int value;
    }

    private Polls() {}

    static List<?> fetch(List<?> answer) {
        return answer;
    }

    static int poll(List<?> answer) {
        return fetch(answer).size();
    }

    static int both(int seconds) throws InterruptedException {
        int sum = 0;
        for (int tenth = 0; tenth < 10 * seconds; tenth++) {
            for (int time = 0; time < 15; time++) {
                sum += poll(List.of());
            }
            sum += fetch(List.of(new Thing())).size();
            Thread.sleep(100);
        }
        return sum;
    }

    public static void main(String[] arguments) throws InterruptedException {
        if (arguments[0].equals("both")) {
            System.out.println(both(Integer.parseInt(arguments[1])));
            return;
        }
        List<?> without = arguments[0].equals("others") ? List.of("a text")
                : arguments[0].equals("count") ? List.of(new CountResponse()) : List.of();
        int times = Integer.parseInt(arguments[1]);
        int sum = 0;
        for (int time = 0; time < times + LATER; time++) {
            for (Object thing : fetch(time < times ? without : List.of(new Thing()))) {
                sum += thing instanceof Thing ? ((Thing) thing).value : 0;
            }
        }
        System.out.println(sum);
    }
}
