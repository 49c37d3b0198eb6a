/*
 * Asks a loader that does not tell whether it is another one for the agent; prints whether it finds it, twice.
 *   java slowpath.transfers.Loaders
 */
package slowpath.transfers;

public final class Loaders {
    private Loaders() {}

    private static final class Untold extends ClassLoader {
        @Override
        public int hashCode() {
            throw new IllegalStateException();
        }

        @Override
        public boolean equals(Object other) {
            throw new IllegalStateException();
        }
    }

    public static void main(String[] arguments) {
        ClassLoader loader = new Untold();
        System.out.println(Rewriting.finds(loader) + " " + Rewriting.finds(loader));
    }
}
