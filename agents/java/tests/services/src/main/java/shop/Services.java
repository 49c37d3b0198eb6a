/*
 * Starts one of the two services:   java -jar services.jar tickets|planner --server.port=PORT
 * [--tickets=http://HOST:PORT, for the planner]. Prints "listening on PORT" when it serves.
 */
package shop;

import java.util.Arrays;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;

public final class Services {
    private Services() {}

    public static void main(String[] arguments) {
        Class<?> service = arguments[0].equals("tickets") ? TicketService.class : PlannerService.class;
        var context = (ServletWebServerApplicationContext)
                SpringApplication.run(service, Arrays.copyOfRange(arguments, 1, arguments.length));
        System.out.println("listening on " + context.getWebServer().getPort());
    }
}
