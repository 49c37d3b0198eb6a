/* Stands for the class of that name, which has a number and no document. */
package co.elastic.clients.elasticsearch.core;

public final class CountResponse {
    public long count() {
        return 1;
    }
}
