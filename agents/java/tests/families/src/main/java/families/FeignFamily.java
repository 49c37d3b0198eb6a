/*
 * Feign, which makes clients of interfaces.
 */
package families;

import feign.Feign;
import feign.Param;
import feign.RequestLine;
import feign.jackson.JacksonDecoder;
import java.util.List;

final class FeignFamily implements Family {
    interface Client {
        @RequestLine("GET /stations/{id}")
        Station station(@Param("id") int id);

        @RequestLine("GET /stations?first={first}")
        List<Station> stations(@Param("first") int first);
    }

    private final Stations stations = new Stations();
    private final Client client = Feign.builder().decoder(new JacksonDecoder()).target(Client.class, stations.url());

    @Override
    public void ask(int number) {
        one(number);
        list();
    }

    private String one(int number) {
        Station station = client.station(number); // line: feign
        return station.getName();
    }

    private int list() {
        return client.stations(1).stream().mapToInt(Station::getPlatforms).sum(); // line: feign-list
    }

    @Override
    public void close() {
        stations.close();
    }
}
