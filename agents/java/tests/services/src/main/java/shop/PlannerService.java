/*
 * The service that asks, in every way that the agent knows. What it does with the answers is what the agent must
 * find out; the test looks for the lines marked "line:". `/truth` says how often `/sometimes` read the price.
 */
package shop;

import com.google.gson.Gson;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.ComponentScan;
import org.springframework.context.annotation.FilterType;
import org.springframework.core.ParameterizedTypeReference;
import org.springframework.http.HttpMethod;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.RestTemplate;
import slowpath.transfers.RemoteObject;

@SpringBootApplication
@ComponentScan(useDefaultFilters = false,
        includeFilters = @ComponentScan.Filter(type = FilterType.ASSIGNABLE_TYPE, classes = PlannerService.class))
@RestController
public class PlannerService {
    private static final Logger LOG = LoggerFactory.getLogger(PlannerService.class);

    private final String tickets;
    private final TicketClient client;
    private final RestTemplate rest = new RestTemplate();
    private final RestClient restClient;
    private final HttpClient http = HttpClient.newHttpClient();
    private final tools.jackson.databind.ObjectMapper jackson3 = new tools.jackson.databind.ObjectMapper();
    private final com.fasterxml.jackson.databind.ObjectMapper jackson2 =
            new com.fasterxml.jackson.databind.ObjectMapper();
    private final Gson gson = new Gson();
    private final Map<Integer, Ticket> kept = new ConcurrentHashMap<>();
    private final AtomicInteger pricesRead = new AtomicInteger();
    private final AtomicInteger pricesNotRead = new AtomicInteger();

    public PlannerService(@Value("${tickets}") String tickets) {
        this.tickets = tickets;
        client = new TicketClient(tickets);
        restClient = RestClient.create(tickets);
    }

    @GetMapping("/one/{id}")
    String one(@PathVariable int id) {
        Ticket ticket = client.ticket(id); // line: one
        return ticket.getDestination();
    }

    @GetMapping("/all/{id}")
    int all(@PathVariable int id) {
        Ticket ticket = client.ticket(id); // line: all
        return (ticket.getId() + ticket.getVersion() + ticket.getTrainNumber() + ticket.getDeparture()
                + ticket.getDestination() + ticket.getDepartsAt() + ticket.getArrivesAt() + ticket.getSeat()
                + ticket.getSeatClass() + ticket.getPrice() + ticket.getPassenger() + ticket.isRefundable()).length();
    }

    @GetMapping("/log/{id}")
    String log(@PathVariable int id) {
        Ticket ticket = client.ticket(id); // line: log
        LOG.info("received {}", ticket);
        return "logged";
    }

    @GetMapping("/sometimes/{id}")
    double sometimes(@PathVariable int id) {
        Ticket ticket = client.ticket(id); // line: sometimes
        if (id * 7919 % 100 < 30) {
            pricesRead.incrementAndGet();
            return ticket.getPrice();
        }
        pricesNotRead.incrementAndGet();
        return 0;
    }

    @GetMapping("/truth")
    String truth() {
        return pricesRead + " " + pricesNotRead;
    }

    @GetMapping("/keep/{id}")
    String keep(@PathVariable int id) {
        Ticket ticket = client.ticket(id); // line: keep
        kept.put(id, ticket);
        return ticket.getDeparture();
    }

    @GetMapping("/list/{id}")
    int list(@PathVariable int id) {
        var answer = rest.exchange(tickets + "/tickets?of=" + id, HttpMethod.GET, null, // line: list
                new ParameterizedTypeReference<java.util.List<Ticket>>() {});
        return answer.getBody().stream().mapToInt(Ticket::getSeat).sum();
    }

    @GetMapping("/rest-client/{id}")
    String restClient(@PathVariable int id) {
        Ticket ticket = restClient.get().uri("/tickets/{id}", id).retrieve().body(Ticket.class); // line: rest-client
        return ticket.getPassenger();
    }

    /** Reads the answer before it is returned. */
    @GetMapping("/exchange/{id}")
    String exchange(@PathVariable int id) {
        Ticket ticket = restClient.get().uri("/tickets/{id}", id).exchange((request, answer) -> { // line: exchange
            Ticket read = answer.bodyTo(Ticket.class);
            return read.getSeat() < 0 ? null : read;
        });
        return ticket.getPassenger();
    }

    @GetMapping("/jackson3/{id}")
    String jackson3(@PathVariable int id) throws IOException, InterruptedException {
        Station station = jackson3.readValue(body("/stations/" + id), Station.class); // line: jackson3
        LOG.info("at {}", station);
        return station.name();
    }

    @GetMapping("/jackson2/{id}")
    String jackson2(@PathVariable int id) throws IOException, InterruptedException {
        Station station = jackson2.readValue(body("/stations/" + id), Station.class); // line: jackson2
        return station.code();
    }

    @GetMapping("/gson/{id}")
    String gson(@PathVariable int id) throws IOException, InterruptedException {
        Ticket ticket = gson.fromJson(body("/tickets/" + id), Ticket.class); // line: gson
        return ticket.getSeatClass();
    }

    /** Objects are made while the body comes. */
    @GetMapping("/mapped/{id}")
    String mapped(@PathVariable int id) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(tickets + "/stations/" + id)).build();
        HttpResponse<Station> answer = http.send(request, told -> HttpResponse.BodySubscribers.mapping(
                HttpResponse.BodySubscribers.ofByteArray(), body -> jackson3.readValue(body, Station.class)));
        Station station = answer.body(); // line: mapped
        return station.name() + (answer.body() == station);
    }

    /** Passes on what it got: Jackson reads every field, by reflection. */
    @GetMapping("/forward/{id}")
    Platform forward(@PathVariable int id) {
        return rest.getForObject(tickets + "/platforms/{number}", Platform.class, id); // line: forward
    }

    /** Reads a text that did not come over the network. */
    @GetMapping("/local/{id}")
    String local(@PathVariable int id) {
        return jackson3.readValue("{\"code\":\"" + id + "\",\"name\":\"\",\"latitude\":0,\"longitude\":0}", // line: local
                Station.class).code();
    }

    @GetMapping("/annotated/{id}")
    String annotated(@PathVariable int id) {
        return next(id).name(); // line: annotated
    }

    /** Stands for a client that nobody knows. */
    @RemoteObject("a queue of stations")
    private Station next(int id) {
        return new Station("S" + id, "Station", 0, 0);
    }

    private String body(String path) throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(tickets + path)).build();
        return http.send(request, HttpResponse.BodyHandlers.ofString()).body();
    }
}
