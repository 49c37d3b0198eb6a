/*
 * Responses of many orders, which are logged alone: their toString has what their tickets have.
 *   java corners.Lists RESPONSES
 */
package corners;

import java.util.ArrayList;
import java.util.List;

public final class Lists {
    static class Ticket {
        String name = "name";
        String never = "never";
    }

    static class Order {
        Ticket ticket = new Ticket();

        @Override
        public String toString() {
            return "order of " + ticket.name;
        }
    }

    private static final int ORDERS = 50;
    static volatile Object sink;

    private Lists() {}

    static List<Order> fetch() {
        List<Order> orders = new ArrayList<>();
        for (int order = 0; order < ORDERS; order++) {
            orders.add(new Order());
        }
        return orders;
    }

    public static void main(String[] arguments) throws InterruptedException {
        for (int response = 1; response <= Integer.parseInt(arguments[0]); response++) {
            sink = "got " + fetch();
            if (response % 100 == 0) {
                System.gc();
                Thread.sleep(20);
            }
        }
        for (int collection = 0; collection < 2; collection++) {
            System.gc();
            Thread.sleep(300);
        }
    }
}
