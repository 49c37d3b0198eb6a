/*
 * Spring's RestTemplate, with templates of URLs that go on from one of its own. (More of it: the two services.)
 */
package families;

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
    }

    private String one(int number) {
        return rest.getForObject("/stations/{id}?in={in}", Station.class, number, "a/b").getName(); // line: rest-template
    }

    @Override
    public void close() {
        stations.close();
    }
}
