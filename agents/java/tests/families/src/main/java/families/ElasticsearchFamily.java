/*
 * Documents of Elasticsearch, by its client for Java, from a node in this process.
 */
package families;

import co.elastic.clients.elasticsearch.ElasticsearchClient;
import co.elastic.clients.elasticsearch._types.Refresh;
import co.elastic.clients.elasticsearch.core.SearchResponse;
import co.elastic.clients.elasticsearch.core.search.Hit;
import co.elastic.clients.json.jackson.JacksonJsonpMapper;
import co.elastic.clients.transport.rest_client.RestClientTransport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.http.HttpHost;
import org.apache.http.HttpRequest;
import org.apache.http.protocol.HttpContext;
import org.elasticsearch.client.RestClient;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.http.HttpServerTransport;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.transport.Netty4Plugin;

final class ElasticsearchFamily implements Family {
    private static final class Server extends Node {
        Server(Path folder) {
            super(InternalSettingsPreparer.prepareEnvironment(Settings.builder()
                    .put("path.home", folder).put("cluster.name", "families").put("discovery.type", "single-node")
                    .put("http.type", "netty4").put("http.port", 0)
                    .put("transport.type", "netty4").put("transport.port", 0).put("network.host", "127.0.0.1")
                    .put("cluster.routing.allocation.disk.threshold_enabled", false)
                    .build(), Map.of(), null, () -> "node"), List.of(Netty4Plugin.class), false);
        }

        int port() {
            return injector().getInstance(HttpServerTransport.class).boundAddress().publishAddress().getPort();
        }
    }

    private final Server server;
    private final RestClient http;
    private final ElasticsearchClient client;

    ElasticsearchFamily() throws Exception {
        server = new Server(Files.createTempDirectory(Path.of(System.getProperty("families.folder")), "elasticsearch"));
        server.start();
        http = RestClient.builder(new HttpHost("127.0.0.1", server.port())).setHttpClientConfigCallback(client ->
                client.addInterceptorLast(ElasticsearchFamily::speakPlainly)).build();
        client = new ElasticsearchClient(new RestClientTransport(http, new JacksonJsonpMapper()));
        for (int number = 0; number < 10; number++) {
            Station station = Station.of(number);
            client.index(request -> request.index("stations").id(station.getCode()).document(station)
                    .refresh(Refresh.True));
        }
    }

    /** Clients that are newer than the server name versions of its JSON that it does not know. */
    private static void speakPlainly(HttpRequest request, HttpContext context) {
        request.setHeader("Accept", "application/json");
        if (request.containsHeader("Content-Type")) {
            request.setHeader("Content-Type", "application/json");
        }
    }

    @Override
    public void ask(int number) throws IOException {
        get(number);
        search();
        several();
    }

    private String get(int number) throws IOException {
        String id = "S" + number % 10;
        return client.get(request -> request.index("stations").id(id), Station.class) // line: elasticsearch
                .source().getName();
    }

    private int search() throws IOException {
        SearchResponse<Station> found = client.search(request -> request.index("stations") // line: elasticsearch-search
                .query(query -> query.match(match -> match.field("name").query("7"))), Station.class);
        return found.hits().hits().stream().map(Hit::source).mapToInt(Station::getPlatforms).sum();
    }

    private double several() throws IOException {
        var both = client.mget(request -> request.index("stations") // line: elasticsearch-several
                .ids("S1", "S2"), Station.class);
        return both.docs().stream().mapToDouble(document -> document.result().source().getLatitude()).sum();
    }

    @Override
    public void close() throws IOException {
        http.close();
        server.close();
    }
}
