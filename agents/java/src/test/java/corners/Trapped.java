/*
 * A program that takes the signal SIGTRAP for itself after a while, as debugging tools do; each object is read.
 *   java corners.Trapped
 */
package corners;

import jakarta.servlet.http.HttpServlet;
import java.lang.reflect.Proxy;

public final class Trapped {
    static class Item {
        String read = "r";
    }

    static volatile Object sink;

    private Trapped() {}

    static Item fetch() {
        return new Item();
    }

    private static void takeSignal() throws ReflectiveOperationException {
        Class<?> signal = Class.forName("sun.misc.Signal");
        Class<?> handler = Class.forName("sun.misc.SignalHandler");
        Object ignoring = Proxy.newProxyInstance(
                handler.getClassLoader(), new Class<?>[] {handler}, (proxy, method, arguments) -> null);
        signal.getMethod("handle", signal, handler)
                .invoke(null, signal.getConstructor(String.class).newInstance("TRAP"), ignoring);
    }

    public static void main(String[] arguments) throws Exception {
        HttpServlet servlet = new HttpServlet(() -> sink = fetch().read);
        for (int request = 0; request < 200; request++) {
            servlet.service(null);
            Thread.sleep(10);
            if (request % 20 == 0) {
                System.gc();
            }
            if (request == 100) {
                takeSignal();
            }
        }
        System.gc();
        Thread.sleep(500);
    }
}
