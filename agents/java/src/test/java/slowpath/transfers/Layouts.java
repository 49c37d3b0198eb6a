/*
 * Prints the fields that a class has by each of two loaders that take themselves for equal, and how often they were asked
 * whether they are.
 */
package slowpath.transfers;

import java.net.URL;
import java.util.List;

public final class Layouts {
    private static int asked;

    private Layouts() {}

    private static final class Loader extends ClassLoader {
        private final String has;

        Loader(String has) {
            this.has = has;
        }

        @Override
        public URL getResource(String name) {
            return super.getResource(has + ".class");
        }

        @Override
        public boolean equals(Object other) {
            asked++;
            return other instanceof Loader;
        }

        @Override
        public int hashCode() {
            asked++;
            return 1;
        }
    }

    public static void main(String[] arguments) {
        ClassLayouts layouts = new ClassLayouts(new Packages(List.of(), List.of()));
        for (String has : List.of("elsewhere/data/Item", "corners/Unusual$Updated")) {
            System.out.println(layouts.of(new Loader(has), "elsewhere/data/Item").fields);
        }
        System.out.println("asked " + asked);
    }
}
