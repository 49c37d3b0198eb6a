/*
 * Spring's WebClient on Reactor Netty: what it is asked for arrives on a thread of Netty.
 */
package families;

import org.springframework.web.reactive.function.client.WebClient;

final class WebClientFamily implements Family {
    private final Stations stations = new Stations();
    private final WebClient client = WebClient.create(stations.url());

    @Override
    public void ask(int number) {
        mono(number);
        flux();
        entity(number);
    }

    private String mono(int number) {
        return client.get().uri("/stations/{id}", number).retrieve()
                .bodyToMono(Station.class) // line: web-client
                .map(Station::getName).block();
    }

    private long flux() {
        return client.get().uri("/stations?first=1").retrieve()
                .bodyToFlux(Station.class) // line: web-client-flux
                .filter(station -> station.getPlatforms() > 2).count().block();
    }

    private String entity(int number) {
        return client.get().uri("/stations/" + number).retrieve()
                .toEntity(Station.class) // line: web-client-entity
                .block().getBody().toString();
    }

    @Override
    public void close() {
        stations.close();
    }
}
