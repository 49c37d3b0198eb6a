/*
 * Objects of libraries around what was received: of Spring's clients and of Elasticsearch's.
 */
package slowpath.transfers;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

final class Wrappers {
    /** The methods that tell what these hold. */
    private static final Map<String, List<String>> OF_SPRING = Map.of(
            "org.springframework.http.ResponseEntity", List.of("getBody"),
            "org.springframework.data.mongodb.core.aggregation.AggregationResults", List.of("getMappedResults"));
    /** Of a search and what it found, of one document and several, of several searches. */
    private static final List<String> OF_ELASTICSEARCH = List.of("hits", "source", "docs", "responses", "result");

    private Wrappers() {}

    /** Whether objects of the class are there to hold others: a search is, a count is not. */
    static boolean isKnown(Class<?> type) {
        for (String method : methods(type.getName())) {
            if (Asked.has(type, method)) {
                return true;
            }
        }
        return false;
    }

    private static List<String> methods(String className) {
        return className.startsWith("co.elastic.clients.elasticsearch.") ? OF_ELASTICSEARCH
                : OF_SPRING.getOrDefault(className, List.of());
    }

    /** What the object is there to hold; empty: it is no such object, or holds nothing. */
    static List<Object> content(Object object, String className) {
        List<Object> content = new ArrayList<>();
        for (String method : methods(className)) {
            Object held = Asked.of(object, method);
            if (held != null) {
                content.add(held);
            }
        }
        return content;
    }
}
