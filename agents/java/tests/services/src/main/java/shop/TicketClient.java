/*
 * How the planner asks the ticket service: one place for all its callers.
 */
package shop;

import org.springframework.web.client.RestTemplate;

final class TicketClient {
    private final RestTemplate rest = new RestTemplate();
    private final String tickets;

    TicketClient(String tickets) {
        this.tickets = tickets;
    }

    Ticket ticket(int id) {
        return rest.getForObject(tickets + "/tickets/{id}", Ticket.class, id); // line: TicketClient
    }
}
