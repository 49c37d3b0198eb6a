/*
 * Responses of many orders, which are logged alone: their toString has what their tickets have. What else is told of
 * tickets by an object of the program's own is use.
 *   java corners.Lists RESPONSES
 */
package corners;

import java.util.ArrayList;
import java.util.List;

public final class Lists {
    static class Ticket {
        String name = "name";
        String seat = "seat";
        String never = "never";
    }

    abstract static class Told {
        abstract String text();

        @Override
        public String toString() {
            return "told: " + text();
        }
    }

    static class Order extends Told {
        Ticket ticket = new Ticket();

        @Override
        String text() {
            return ticket.name;
        }
    }

    static class Seats extends Told {
        private final List<Ticket> tickets = new ArrayList<>();

        @Override
        String text() {
            StringBuilder text = new StringBuilder();
            tickets.forEach(ticket -> text.append(ticket.seat));
            return text.toString();
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
            List<Order> orders = fetch();
            sink = "got " + orders;
            Seats seats = new Seats();
            orders.forEach(order -> seats.tickets.add(order.ticket));
            sink = "got " + seats;
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
