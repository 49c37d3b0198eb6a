/*
 * Prints how the agent names each query in SQL that is given, a line each.
 *   java slowpath.transfers.Queries SQL...
 */
package slowpath.transfers;

public final class Queries {
    private Queries() {}

    public static void main(String[] queries) {
        for (String query : queries) {
            Endpoint endpoint = Sql.endpoint(query);
            System.out.println(endpoint.method + " " + endpoint.url);
        }
    }
}
