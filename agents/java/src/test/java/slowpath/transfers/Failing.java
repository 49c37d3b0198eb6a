/*
 * Has hooks fail in the midst of their work, as they might in a library of another kind; prints how often they did.
 *   java slowpath.transfers.Failing
 */
package slowpath.transfers;

import java.net.http.HttpRequest;
import java.util.Map;

public final class Failing {
    private Failing() {}

    public static void main(String[] arguments) {
        Object failing = new Object() {
            @Override
            public String toString() {
                throw new StackOverflowError();
            }
        };
        Hooks.transfers = new Transfers(Options.parse(""), null, null, null);
        Hooks.call(failing, failing, null);
        Hooks.calling("GET", failing, Map.of());
        Hooks.callingByTemplate(HttpRequest.newBuilder());
        Hooks.received(failing, "nobody");
        Hooks.callCommand(failing, "find");
        Hooks.failed();
        Hooks.body("body", "GET", failing);
        Hooks.request(failing, "GET", failing, Map.of());
        Hooks.command(failing, failing, "find");
        Hooks.message(failing, failing);
        System.out.println(Hooks.transfers.failures);
        System.out.println(ThreadState.current().receiving);
    }
}
