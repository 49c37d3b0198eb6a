/*
 * Spring's RestTemplate, with templates of URLs that go on from one of its own. (More of it: the two services.)
 */
package families;

import java.util.ArrayList;
import org.springframework.http.HttpMethod;
import org.springframework.web.client.HttpMessageConverterExtractor;
import org.springframework.web.client.RestTemplate;
import org.springframework.web.util.DefaultUriBuilderFactory;

final class RestTemplateFamily implements Family {
    private final Stations stations = new Stations();
    private final RestTemplate rest = new RestTemplate();

    RestTemplateFamily() {
        rest.setUriTemplateHandler(new DefaultUriBuilderFactory(stations.url()));
    }

    @Override
    public void ask(int number) {
        one(number);
        extracted(number);
        labelled(number);
        made(number);
        listed();
    }

    private String one(int number) {
        return rest.getForObject("/stations/{id}?in={in}", Station.class, number, "a/b").getName(); // line: rest-template
    }

    private String made(int number) {
        return rest.getForObject("/stations/{id}", MadeStation.class, number).title(); // line: rest-made
    }

    /** What a client is given where it would not know of what the list is. */
    static class StationList extends ArrayList<Station> {
        /** JSON has elements alone. */
        private int asked;
    }

    private int listed() {
        return rest.getForObject("/stations?first=1", StationList.class) // line: rest-listed
                .stream().mapToInt(Station::getPlatforms).sum();
    }

    private String labelled(int number) {
        return rest.getForObject("/stations/{id}", LabelledStation.class, number).label(); // line: rest-labelled
    }

    /** Reads the answer before it is returned. */
    private String extracted(int number) {
        HttpMessageConverterExtractor<Station> body =
                new HttpMessageConverterExtractor<>(Station.class, rest.getMessageConverters());
        return rest.execute("/stations/{id}", HttpMethod.GET, null, answer -> { // line: rest-extractor
            Station station = body.extractData(answer);
            return station.getPlatforms() < 0 ? null : station;
        }, number).getName();
    }

    @Override
    public void close() {
        stations.close();
    }
}
