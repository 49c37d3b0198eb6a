/*
 * A client of JAX-RS: Jersey, which reads JSON by Jackson.
 */
package families;

import com.fasterxml.jackson.jakarta.rs.json.JacksonJsonProvider;
import jakarta.ws.rs.client.Client;
import jakarta.ws.rs.client.ClientBuilder;
import jakarta.ws.rs.core.GenericType;
import java.util.List;

final class JaxRsFamily implements Family {
    private final Stations stations = new Stations();
    private final Client client = ClientBuilder.newClient().register(JacksonJsonProvider.class);

    @Override
    public void ask(int number) {
        one(number);
        read(number);
        list();
    }

    private String one(int number) {
        Station station = client.target(stations.url()).path("stations/{id}").resolveTemplate("id", number)
                .request().get(Station.class); // line: jax-rs
        return station.getName();
    }

    private double read(int number) {
        try (var answer = client.target(stations.url() + "/stations/" + number).request().get()) {
            return answer.readEntity(Station.class).getLatitude(); // line: jax-rs-read
        }
    }

    private int list() {
        List<Station> all = client.target(stations.url() + "/stations").request()
                .get(new GenericType<>() {}); // line: jax-rs-list
        return all.stream().mapToInt(Station::getPlatforms).sum();
    }

    @Override
    public void close() {
        client.close();
        stations.close();
    }
}
