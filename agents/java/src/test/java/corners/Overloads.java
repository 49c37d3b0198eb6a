/*
 * Methods that return numbers beside some of the same name that return objects, and one that is annotated all the same.
 *   java corners.Overloads RESPONSES
 */
package corners;

import slowpath.transfers.RemoteObject;

public final class Overloads {
    static final class Item {
        int read = 1;
    }

    interface Source {
        @RemoteObject
        Item fetch();
    }

    private Overloads() {}

    static Item fetch() {
        return new Item();
    }

    static int fetch(int number) {
        return number;
    }

    static long fetch(long number) {
        return number;
    }

    static double fetch(double number) {
        return number;
    }

    static Item[] fetch(Item item) {
        return new Item[] {item};
    }

    @RemoteObject
    static int annotated(int number) {
        return number;
    }

    public static void main(String[] arguments) {
        double sum = 0;
        for (int response = Integer.parseInt(arguments[0]); response > 0; response--) {
            Source source = Overloads::fetch;
            sum += source.fetch().read + fetch(1) + fetch(1L) + fetch(1.0) + fetch(new Item())[0].read + annotated(1);
        }
        System.out.println("sum " + sum);
    }
}
