/*
 * Asks by one library after the other, each often enough to be told of, and ends when all that arrived is dead and
 * collected. What the families do with the answers is what the agent must find out.
 *   java families.Families TIMES FAMILY...
 */
package families;

import java.util.Map;
import java.util.concurrent.Callable;

public final class Families {
    private static final Map<String, Callable<Family>> ALL = Map.of(
            "jdbc", JdbcFamily::new, "jpa", JpaFamily::new, "resttemplate", RestTemplateFamily::new,
            "webclient", WebClientFamily::new, "feign", FeignFamily::new, "jaxrs", JaxRsFamily::new,
            "grpc", GrpcFamily::new, "mongodb", MongoFamily::new, "elasticsearch", ElasticsearchFamily::new);

    private Families() {}

    public static void main(String[] arguments) {
        int status = 1;
        try {
            ask(arguments);
            status = 0;
        } catch (Exception | LinkageError cause) {
            cause.printStackTrace();
        }
        // Servers have threads that would go on.
        System.exit(status);
    }

    private static void ask(String[] arguments) throws Exception {
        int times = Integer.parseInt(arguments[0]);
        for (int argument = 1; argument < arguments.length; argument++) {
            long begin = System.nanoTime();
            try (Family family = ALL.get(arguments[argument]).call()) {
                for (int number = 0; number < times; number++) {
                    family.ask(number);
                }
            }
            System.out.println("asked " + arguments[argument] + " " + (System.nanoTime() - begin) / 1_000_000 + " ms");
        }
        for (int collection = 0; collection < 4; collection++) {
            System.gc();
            Thread.sleep(300);
        }
    }
}
