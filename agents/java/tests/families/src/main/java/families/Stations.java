/*
 * The service that HTTP clients ask: Reactor Netty, below a path of its own.
 *   /api/stations/7 is one station, /api/stations?first=7 are three.
 */
package families;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerResponse;

final class Stations implements AutoCloseable {
    private final ObjectMapper json = new ObjectMapper();
    private final DisposableServer server = HttpServer.create().host("localhost").port(0).route(routes -> routes
            .get("/api/stations/{id}", (request, response) ->
                    send(response, Station.of(Integer.parseInt(request.param("id")))))
            .get("/api/stations", (request, response) ->
                    send(response, List.of(Station.of(1), Station.of(2), Station.of(3)))))
            .bindNow();

    private org.reactivestreams.Publisher<Void> send(HttpServerResponse response, Object body) {
        try {
            return response.header("Content-Type", "application/json")
                    .sendString(Mono.just(json.writeValueAsString(body)));
        } catch (JsonProcessingException cause) {
            throw new IllegalStateException(cause);
        }
    }

    String url() {
        return "http://localhost:" + server.port() + "/api";
    }

    @Override
    public void close() {
        server.disposeNow();
    }
}
