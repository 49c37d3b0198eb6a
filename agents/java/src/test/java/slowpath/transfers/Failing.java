/*
 * Has hooks fail in the midst of their work, as they might in a library of another kind; prints how often they did.
 *   java slowpath.transfers.Failing
 */
package slowpath.transfers;

import java.io.IOException;
import java.net.http.HttpRequest;
import java.util.List;
import java.util.Map;

public final class Failing {
    private Failing() {}

    private static final class Unchecked implements Backend {
        @Override
        public String name() {
            return "unchecked";
        }

        @Override
        public DataClass dataClass(Class<?> type) {
            throw unchecked(new IOException());
        }

        @Override
        public void watch(Object object, int weight, DataClass type, Row row, List<Lifetimes.Sample> ofRequest) {}

        @Override
        public boolean print(Object object, Object other, boolean isText) {
            return false;
        }

        @Override
        public void copy(Object object) {}

        @Override
        public void tellNotWatched(Json json) {}
    }

    /** What is checked by the compiler alone: throws it all the same. */
    @SuppressWarnings("unchecked")
    private static <T extends Throwable> RuntimeException unchecked(Throwable cause) throws T {
        throw (T) cause;
    }

    public static void main(String[] arguments) {
        Object failing = new Object() {
            @Override
            public String toString() {
                throw new StackOverflowError();
            }
        };
        Hooks.transfers = new Transfers(Options.parse(""), null, null, null);
        Hooks.call(failing, failing, null);
        ThreadState.current().receiving = 1;
        Hooks.calling("GET", failing, Map.of());
        Hooks.callingByTemplate(HttpRequest.newBuilder());
        ThreadState.current().receiving = 0;
        Hooks.received(failing, "nobody");
        Hooks.callCommand(failing, "find");
        Hooks.body("body", "GET", failing);
        Hooks.request(failing, "GET", failing, Map.of());
        Hooks.command(failing, failing, "find");
        Hooks.message(failing, failing);
        Object sneaky = new Object() {
            @Override
            public String toString() {
                throw unchecked(new IOException());
            }
        };
        Hooks.callCommand(sneaky, "find");
        Object asked = new Object() {
            @Override
            public String toString() {
                System.out.println(ThreadState.current().receiving);
                return "http://stations/1";
            }
        };
        Hooks.call("GET", asked, null);
        Options options = Options.parse("packages=slowpath.transfers");
        Transfers looking = new Transfers(options, new Unchecked(), null, new CallPaths(options, false));
        looking.received(new Object(), Endpoint.UNKNOWN, "nobody", true);
        Hooks.transfers.failures.add(looking.failures.sum());
        System.out.println(Hooks.transfers.failures);
        System.out.println(ThreadState.current().receiving);
    }
}
