/*
 * Prints how the agent names each URL that is given, a line each.
 *   java slowpath.transfers.Endpoints URL...
 */
package slowpath.transfers;

public final class Endpoints {
    private Endpoints() {}

    public static void main(String[] urls) {
        for (String url : urls) {
            System.out.println(Endpoint.of("GET", null, url).url);
        }
    }
}
