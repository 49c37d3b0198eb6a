/*
 * The application that Soak deploys: for a moment it serves requests, each in a thread that another one starts which is
 * then gone. What is read of the objects that it receives is known: see Order.
 */
package soak.deployed;

import jakarta.servlet.http.HttpServlet;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

public final class Server implements Callable<Integer> {
    private static final int ROUNDS = 12;
    private static final long REST_MILLIS = 20;

    /** A cache, as applications have them: what lies in it outlives its request. */
    private static final List<Object> kept = new ArrayList<>();

    static volatile Object sink;

    private final AtomicInteger received = new AtomicInteger();
    private volatile Throwable failure;
    private final Class<?> generated;

    /** @param generated the name of a class that its loader generates */
    public Server(String generated) throws ClassNotFoundException {
        this.generated = Class.forName(generated);
    }

    @Override
    public Integer call() throws Exception {
        CountDownLatch served = new CountDownLatch(2 * ROUNDS);
        for (int round = 0; round < ROUNDS; round++) {
            int number = round;
            // The second outlives the first.
            new Thread(() -> {
                new Thread(() -> serve(number, served)).start();
                serve(number, served);
            }).start();
            Thread.sleep(REST_MILLIS);
        }
        served.await();
        if (failure != null) {
            throw new IllegalStateException(failure);
        }
        return received.get();
    }

    private void serve(int number, CountDownLatch served) {
        try {
            new HttpServlet(() -> answer(number)).service(null);
        } catch (IllegalStateException cause) {
            sink = cause;
        } catch (Exception | LinkageError cause) {
            failure = cause;
        } finally {
            served.countDown();
        }
    }

    private Object answer(int number) throws Exception {
        Order order = order(number);
        received.incrementAndGet();
        use(order);
        Valued valued = Client.generated(generated);
        received.incrementAndGet();
        sink = valued.value();
        if (number == 0) {
            Order cached = order(1);
            received.incrementAndGet();
            use(cached);
            synchronized (kept) {
                kept.add(cached);
            }
        }
        if (number % 5 == 0) {
            throw new IllegalStateException("a request fails");
        }
        return order;
    }

    private static Order order(int number) {
        for (int attempt = number; ; attempt++) {
            try {
                return Client.order(attempt);
            } catch (IllegalArgumentException cause) {
                sink = cause; // Asked again, it answers.
            }
        }
    }

    private static void use(Order order) {
        sink = order.number;
        sink = order.customer.name;
        try {
            sink = order.toString();
        } catch (UnsupportedOperationException cause) {
            sink = order.afterException;
        }
        Runnable lambda = () -> sink = order.inLambda;
        lambda.run();
    }
}
