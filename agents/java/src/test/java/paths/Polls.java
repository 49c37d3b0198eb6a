/*
 * A program that asks for "remote" objects (`paths.Polls#fetch`, option `remote`), and gets none so many times, or only what is
 * not its own; then one each time.
 *   java paths.Polls nothing|others TIMES
 */
package paths;

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

    public static void main(String[] arguments) {
        List<?> without = arguments[0].equals("others") ? List.of("a text") : List.of();
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
