/*
 * The clients of the example's Cassandra: each reads one row, waits for the answer, rests and goes on, all
 * under constant load. Writes down what each request took, as the client saw it. Knows nothing of tracing.
 *
 *     java Load warm-up REQUESTS                   waits for the server, makes the table, then so many reads
 *     java Load read SECONDS CLIENTS MILLISECONDS  reads for so long, resting so long between two reads;
 *                                                  prints "begun" at once, then BEGIN END of each read
 *                                                  (nanoseconds since the epoch)
 */
import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.PreparedStatement;
import com.datastax.driver.core.Session;
import com.datastax.driver.core.SocketOptions;
import com.datastax.driver.core.exceptions.NoHostAvailableException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public final class Load {
    private static final int PORT = 19042;
    private static final int ROWS = 1000;
    private static final int PATIENCE_MILLISECONDS = 60_000;

    private Load() {}

    public static void main(String[] arguments) throws Exception {
        SocketOptions patient = new SocketOptions().setReadTimeoutMillis(PATIENCE_MILLISECONDS);
        Cluster.Builder node = Cluster.builder().addContactPoint("127.0.0.1").withPort(PORT)
                .withSocketOptions(patient).withoutMetrics().withoutJMXReporting();
        try (Session session = connected(node); Cluster cluster = session.getCluster()) {
            if (arguments.length == 2 && arguments[0].equals("warm-up")) {
                warmUp(session, Integer.parseInt(arguments[1]));
            } else if (arguments.length == 4 && arguments[0].equals("read")) {
                read(session, Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]),
                        Integer.parseInt(arguments[3]));
            } else {
                System.err.println("usage: Load warm-up REQUESTS | read SECONDS CLIENTS MILLISECONDS");
                System.exit(2);
            }
        }
    }

    /** Waits up to four minutes for the server to start. */
    private static Session connected(Cluster.Builder node) throws InterruptedException {
        for (int attempt = 1; ; attempt++) {
            Cluster cluster = node.build();
            try {
                return cluster.connect();
            } catch (NoHostAvailableException cause) {
                cluster.close();
                if (attempt == 240) {
                    throw cause;
                }
                Thread.sleep(1000);
            }
        }
    }

    private static void warmUp(Session session, int requests) {
        session.execute("CREATE KEYSPACE IF NOT EXISTS shop WITH replication = "
                + "{'class': 'SimpleStrategy', 'replication_factor': 1}");
        session.execute("CREATE TABLE IF NOT EXISTS shop.orders (id int PRIMARY KEY, what text)");
        PreparedStatement order = session.prepare("INSERT INTO shop.orders (id, what) VALUES (?, ?)");
        for (int id = 0; id < ROWS; id++) {
            session.execute(order.bind(id, "order " + id));
        }
        PreparedStatement look = session.prepare("SELECT what FROM shop.orders WHERE id = ?");
        for (int request = 0; request < requests; request++) {
            session.execute(look.bind(request % ROWS));
        }
    }

    private static void read(Session session, int seconds, int clients, int rest) throws Exception {
        PreparedStatement look = session.prepare("SELECT what FROM shop.orders WHERE id = ?");
        session.execute(look.bind(0));
        System.out.println("begun");
        long end = now() + seconds * 1_000_000_000L;
        ExecutorService threads = Executors.newFixedThreadPool(clients);
        List<Future<List<String>>> seen = new ArrayList<>();
        for (int client = 0; client < clients; client++) {
            int first = client * ROWS / clients;
            seen.add(threads.submit(() -> {
                List<String> lines = new ArrayList<>();
                for (int request = first; now() < end; request++) {
                    long asked = now();
                    session.execute(look.bind(request % ROWS));
                    lines.add(asked + " " + now());
                    Thread.sleep(rest);
                }
                return lines;
            }));
        }
        for (Future<List<String>> lines : seen) {
            lines.get().forEach(System.out::println);
        }
        threads.shutdown();
    }

    private static long now() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000L + now.getNano();
    }
}
