/*
 * A small order service on the JDK's own HTTP server, with something slow to find: each order is handed from
 * a receiver to a pool of workers and waited for there; workers write a ledger under one lock, and every
 * 25th order rewrites all of it, to the disk, while it holds the lock. Knows nothing of tracing. Not a design to copy.
 *
 *     java OrderService.java serve LEDGER           serves orders until it is told to end (SIGTERM)
 *     java OrderService.java order ORDERS           sends so many, 6 at a time; prints latencies on stderr
 *
 * The service ends with a line for each order: the receiver's thread, the worker's, when that one asked for the lock,
 * got it and gave it back (nanoseconds since the epoch), and 1 where it rewrote the ledger.
 */
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;

public final class OrderService {
    private static final int PORT = 8090;
    private static final int WHOLE_LEDGER = 16 << 20;
    private static final int REWRITE_EVERY = 25;

    private OrderService() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 2 && arguments[0].equals("serve")) {
            serve(Path.of(arguments[1]));
        } else if (arguments.length == 2 && arguments[0].equals("order")) {
            order(Integer.parseInt(arguments[1]));
        } else {
            System.err.println("usage: OrderService serve LEDGER | order ORDERS");
            System.exit(2);
        }
    }

    private static void serve(Path file) throws IOException {
        ExecutorService receivers = Executors.newFixedThreadPool(6, named("receiver"));
        ExecutorService workers = Executors.newFixedThreadPool(3, named("worker"));
        FileChannel ledger = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), PORT), 0);
        server.setExecutor(receivers);
        server.createContext("/order", exchange -> {
            Path receiver = thread();
            Future<?> order = workers.submit(() -> answer(exchange, ledger, receiver));
            try {
                order.get();
            } catch (InterruptedException | ExecutionException cause) {
                throw new IOException("order not answered", cause);
            }
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> done.forEach(System.out::println)));
        server.start();
    }

    private static ThreadFactory named(String name) {
        return task -> new Thread(task, name);
    }

    private static final Queue<String> done = new ConcurrentLinkedQueue<>();
    private static int written; // guarded by the class

    private static void answer(HttpExchange exchange, FileChannel ledger, Path receiver) {
        try (exchange) {
            long asked = now();
            synchronized (OrderService.class) {
                long locked = now();
                boolean rewrite = ++written % REWRITE_EVERY == 0;
                ledger.write(ByteBuffer.allocate(rewrite ? WHOLE_LEDGER : 100), 0);
                if (rewrite) {
                    ledger.force(true);
                }
                long unlocked = now();
                done.add(receiver + " " + thread() + " " + asked + " " + locked + " " + unlocked + " " + (rewrite ? 1 : 0));
            }
            exchange.sendResponseHeaders(200, -1);
        } catch (IOException cause) {
            System.err.println("order not answered: " + cause);
        }
    }

    /** This thread's number, as the kernel has it. */
    private static Path thread() throws IOException {
        return Path.of("/proc/thread-self").toRealPath().getFileName();
    }

    private static long now() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000L + now.getNano();
    }

    private static void order(int orders) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + PORT + "/order")).build();
        ExecutorService customers = Executors.newFixedThreadPool(6);
        List<Future<Long>> latencies = new ArrayList<>();
        for (int number = 0; number < orders; number++) {
            latencies.add(customers.submit(() -> latency(client, request)));
        }
        List<Long> sorted = new ArrayList<>();
        try {
            for (Future<Long> latency : latencies) {
                sorted.add(latency.get());
            }
        } finally {
            customers.shutdownNow();
        }
        sorted.sort(null);
        System.err.printf("%d orders: median %.1f ms, p95 %.1f ms, slowest %.1f ms%n", orders,
                sorted.get(orders / 2) / 1e6, sorted.get(orders * 95 / 100) / 1e6, sorted.get(orders - 1) / 1e6);
    }

    /** Nanoseconds until the answer; waits up to two minutes for the service to start. */
    private static long latency(HttpClient client, HttpRequest request) throws IOException, InterruptedException {
        for (int attempt = 1; ; attempt++) {
            long begin = System.nanoTime();
            try {
                client.send(request, BodyHandlers.discarding());
                return System.nanoTime() - begin;
            } catch (ConnectException cause) {
                if (attempt == 1200) {
                    throw cause;
                }
                Thread.sleep(100);
            }
        }
    }
}
