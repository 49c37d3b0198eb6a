/*
 * Responses of more tickets than are looked at, as a list, an array, a deque, in lists of a list, with others below each,
 * in a page, and in a short list and a long one: of three fifths of them, the first, the price is read. And hits with more
 * numbers than are looked at, accounts of which few have many bookings, and a list of carriages that refer to each other.
 *   java corners.TooMany RESPONSES
 */
package corners;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;

public final class TooMany {
    static class Ticket {
        double price = 1;
    }

    static class Carriage extends Ticket {
        Carriage next;
        Carriage before;
    }

    static class Link {
        String address = "";
    }

    static class Page {
        Link self = new Link();
        List<Ticket> tickets = tickets(LIST);
        Map<String, Link> links = Map.of("next", new Link(), "last", new Link());
        List<Link> none = List.of();
    }

    static class Both {
        List<Ticket> few = tickets(LIST / 10);
        List<Ticket> many = tickets(LIST - LIST / 10);
    }

    static class Booking {
        Link account = ACCOUNT;
    }

    static class Account {
        List<Booking> bookings = new ArrayList<>();
    }

    static class Hit {
        List<Double> vector = Collections.nCopies(NUMBERS, 1.0);
    }

    static class Hits {
        Link self = new Link();
        List<Hit> hits = new ArrayList<>();
    }

    private static final int LIST = 5_000;
    private static final int ARRAY = 25_000;
    private static final int PART = 50;
    private static final int TRAIN = 5;
    private static final int HITS = 100;
    private static final int NUMBERS = 1500;
    private static final int BOOKINGS = 300;
    private static final Link ACCOUNT = new Link();
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

    static List<Carriage> fetchTrains() {
        List<Carriage> trains = new ArrayList<>();
        for (int train = 0; train < LIST / TRAIN; train++) {
            Carriage first = null;
            for (int carriage = 0; carriage < TRAIN; carriage++) {
                Carriage before = new Carriage();
                before.next = first;
                if (first != null) {
                    first.before = before;
                }
                first = before;
            }
            trains.add(first);
        }
        return trains;
    }

    static List<Carriage> fetchLinked() {
        List<Carriage> linked = new ArrayList<>();
        for (int number = 0; number < LIST; number++) {
            Carriage carriage = new Carriage();
            if (number > 0) {
                carriage.before = linked.get(number - 1);
                carriage.before.next = carriage;
            }
            linked.add(carriage);
        }
        return linked;
    }

    static Page fetchPage() {
        return new Page();
    }

    static Both fetchBoth() {
        return new Both();
    }

    static List<Account> fetchAccounts() {
        List<Account> accounts = new ArrayList<>();
        for (int number = 0; number < LIST; number++) {
            accounts.add(new Account());
            for (int booking = 0; number % 100 == 0 && booking < BOOKINGS; booking++) {
                accounts.get(number).bookings.add(new Booking());
            }
        }
        return accounts;
    }

    static Hits fetchHits() {
        Hits hits = new Hits();
        for (int hit = 0; hit < HITS; hit++) {
            hits.hits.add(new Hit());
        }
        return hits;
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
            all.clear();
            for (Carriage train : fetchTrains()) {
                for (Carriage carriage = train; carriage != null; carriage = carriage.next) {
                    all.add(carriage);
                }
            }
            use(all);
            Both both = fetchBoth();
            all.clear();
            all.addAll(both.few);
            all.addAll(both.many);
            use(all);
            sink = fetchHits().hits.size() + fetchAccounts().size() + fetchLinked().size();
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
