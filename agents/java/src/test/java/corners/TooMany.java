/*
 * Responses of more tickets than are looked at, as a list, an array, a deque, in lists of a list and as a page: of three
 * fifths of them, the first, the price is read.
 *   java corners.TooMany RESPONSES
 */
package corners;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;

public final class TooMany {
    static class Ticket {
        double price = 1;
    }

    static class Page {
        int number = 1;
        List<Ticket> tickets = tickets(LIST);
    }

    private static final int LIST = 5_000;
    private static final int ARRAY = 25_000;
    private static final int PART = 50;
    static volatile double sink;

    private TooMany() {}

    private static List<Ticket> tickets(int count) {
        List<Ticket> tickets = new ArrayList<>();
        for (int ticket = 0; ticket < count; ticket++) {
            tickets.add(new Ticket());
        }
        return tickets;
    }

    static List<Ticket> fetchList() {
        return tickets(LIST);
    }

    static Ticket[] fetchArray() {
        return tickets(ARRAY).toArray(new Ticket[0]);
    }

    static Collection<Ticket> fetchDeque() {
        return new ArrayDeque<>(tickets(LIST));
    }

    static List<List<Ticket>> fetchParts() {
        List<List<Ticket>> parts = new ArrayList<>();
        for (int part = 0; part < LIST / PART; part++) {
            parts.add(tickets(PART));
        }
        return parts;
    }

    static Page fetchPage() {
        return new Page();
    }

    private static void use(Collection<Ticket> tickets) {
        tickets.stream().limit(tickets.size() * 3 / 5).forEach(ticket -> sink = ticket.price);
    }

    public static void main(String[] arguments) throws Exception {
        for (int response = 0; response < Integer.parseInt(arguments[0]); response++) {
            use(fetchList());
            use(Arrays.asList(fetchArray()));
            use(fetchDeque());
            List<Ticket> all = new ArrayList<>();
            fetchParts().forEach(all::addAll);
            use(all);
            use(fetchPage().tickets);
            if (response % 100 == 99) {
                System.gc();
                Thread.sleep(20);
            }
        }
        for (int collection = 0; collection < 2; collection++) {
            System.gc();
            Thread.sleep(500);
        }
    }
}
