/*
 * Objects of libraries around what was received: ResponseEntity of Spring, answers of Elasticsearch.
 */
package slowpath.transfers;

import java.util.ArrayList;
import java.util.List;

final class Wrappers {
    private static final List<String> OF_SPRING = List.of("getBody");
    /** Of a search and what it found, of one document and several, of several searches. */
    private static final List<String> OF_ELASTICSEARCH = List.of("hits", "source", "docs", "responses", "result");

    private Wrappers() {}

    /** What the object is there to hold; empty: it is no such object, or holds nothing. */
    static List<Object> content(Object object, String className) {
        List<String> methods = className.equals("org.springframework.http.ResponseEntity") ? OF_SPRING
                : className.startsWith("co.elastic.clients.elasticsearch.") ? OF_ELASTICSEARCH : List.of();
        List<Object> content = new ArrayList<>();
        for (String method : methods) {
            Object held = Asked.of(object, method);
            if (held != null) {
                content.add(held);
            }
        }
        return content;
    }
}
