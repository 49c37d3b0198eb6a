/*
 * The service that is asked.
 */
package shop;

import java.util.ArrayList;
import java.util.List;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.ComponentScan;
import org.springframework.context.annotation.FilterType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

@SpringBootApplication
@ComponentScan(useDefaultFilters = false,
        includeFilters = @ComponentScan.Filter(type = FilterType.ASSIGNABLE_TYPE, classes = TicketService.class))
@RestController
public class TicketService {
    @GetMapping("/tickets/{id}")
    Ticket ticket(@PathVariable int id) {
        Ticket ticket = new Ticket();
        ticket.setId("ticket-" + id);
        ticket.setVersion(3);
        ticket.setTrainNumber("G1234");
        ticket.setDeparture("Shanghai");
        ticket.setDestination("Nanjing");
        ticket.setDepartsAt(1_600_000_000_000L + id);
        ticket.setArrivesAt(1_600_003_600_000L + id);
        ticket.setSeat(id % 64);
        ticket.setSeatClass("economy");
        ticket.setPrice(id % 100 + 0.5);
        ticket.setPassenger("passenger " + id);
        ticket.setRefundable(id % 2 == 0);
        return ticket;
    }

    @GetMapping("/tickets")
    List<Ticket> tickets() {
        List<Ticket> tickets = new ArrayList<>();
        for (int id = 0; id < 5; id++) {
            tickets.add(ticket(id));
        }
        return tickets;
    }

    @GetMapping("/stations/{code}")
    Station station(@PathVariable String code) {
        return new Station(code, "Station of " + code, 31.25, 121.5);
    }

    @GetMapping("/platforms/{number}")
    Platform platform(@PathVariable int number) {
        Platform platform = new Platform();
        platform.number = number;
        platform.station = "Shanghai";
        platform.covered = true;
        return platform;
    }
}
