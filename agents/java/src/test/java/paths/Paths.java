/*
 * A program that receives "remote" objects over call paths that are easily mistaken for each other, as often as it says.
 * `Paths#fetch` stands for a client (the agent's option `remote`), HttpServlet for the server, below which nobody
 * looks. Each path is gone a different number of times, by several threads, virtual ones where there are any.
 *   java paths.Paths
 */
package paths;

import jakarta.servlet.http.HttpServlet;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;

public final class Paths {
    private static final int THREADS = 4;

    static class Thing {
        int value;
    }

    private Paths() {}

    static Thing fetch() {
        return new Thing();
    }

    static Object twoCallsOfALine() {
        return fetch() == null ? null : fetch();
    }

    static Object twoLines() {
        fetch();
        return fetch();
    }

    static Object one() {
        return fetch();
    }

    static Object other() {
        return fetch();
    }

    static Object deep(int depth) {
        return depth == 0 ? fetch() : deep(depth - 1);
    }

    private static void times(int count, Callable<Object> way) {
        for (int time = 0; time < count; time++) {
            try {
                way.call();
            } catch (Exception cause) {
                throw new IllegalStateException(cause);
            }
        }
    }

    private static void allWays() throws Exception {
        times(3, Paths::twoCallsOfALine);
        times(7, Paths::twoLines);
        times(13, () -> deep(1));
        times(17, () -> deep(2));
        times(19, () -> deep(100));
        for (Callable<Object> way : List.<Callable<Object>>of(Paths::one, Paths::other)) {
            times(41, way);
        }
        Method method = Paths.class.getDeclaredMethod("fetch");
        // More often than reflection goes the slow way, which has other frames.
        times(60, () -> method.invoke(null));
        MethodHandle handle = MethodHandles.lookup().findStatic(
                Paths.class, "fetch", MethodType.methodType(Thing.class));
        times(23, () -> {
            try {
                return handle.invokeWithArguments();
            } catch (Throwable cause) {
                throw new IllegalStateException(cause);
            }
        });
        InvocationHandler handler = (proxy, called, arguments) -> fetch();
        Callable<?> proxy = (Callable<?>) Proxy.newProxyInstance(
                Paths.class.getClassLoader(), new Class<?>[] {Callable.class}, handler);
        times(29, proxy::call);
        HttpServlet server = new HttpServlet(() -> deep(3));
        // Whoever calls the server does not count.
        times(31, server::service);
        times(37, server::service);
    }

    private static void runAll() {
        try {
            allWays();
        } catch (Exception cause) {
            throw new IllegalStateException(cause);
        }
    }

    private static Thread start(Runnable work) {
        Thread thread = new Thread(work);
        thread.start();
        return thread;
    }

    private static Thread startVirtual(Runnable work) throws ReflectiveOperationException {
        return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
    }

    public static void main(String[] arguments) throws Exception {
        boolean hasVirtual = Runtime.version().feature() >= 21;
        CountDownLatch done = new CountDownLatch(hasVirtual ? 2 * THREADS : THREADS);
        Runnable work = () -> {
            runAll();
            done.countDown();
        };
        for (int number = 0; number < THREADS; number++) {
            start(work);
            if (hasVirtual) {
                startVirtual(work);
            }
        }
        done.await();
        System.out.println("threads " + (hasVirtual ? 2 * THREADS : THREADS));
    }
}
