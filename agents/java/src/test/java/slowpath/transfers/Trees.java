/*
 * Prints how long JSON is that libraries keep, as the agent has it.
 *   java slowpath.transfers.Trees CLASS-WITH-METHOD-trees
 */
package slowpath.transfers;

import java.util.List;

public final class Trees {
    private Trees() {}

    public static void main(String[] arguments) throws ReflectiveOperationException {
        for (Object tree : (List<?>) Class.forName(arguments[0]).getMethod("trees").invoke(null)) {
            System.out.println(JsonSize.of(tree));
        }
    }
}
