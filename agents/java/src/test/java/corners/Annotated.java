/*
 * Receives objects with an annotation that names a constant of an enum, which cannot be initialised yet; then it is.
 *   java corners.Annotated
 */
package corners;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

public final class Annotated {
    enum Kind {
        SMALL(configured.length());

        final int size;

        Kind(int size) {
            this.size = size;
        }
    }

    @Retention(RetentionPolicy.RUNTIME)
    @interface Of {
        Kind value();
    }

    @Of(Kind.SMALL)
    static final class Item {
        @Of(Kind.SMALL)
        int number = 1;

        @Of(Kind.SMALL)
        int getNumber() {
            return number;
        }
    }

    static volatile String configured;
    static volatile Object sink;

    private Annotated() {}

    static Item fetch() {
        return new Item();
    }

    public static void main(String[] arguments) {
        sink = fetch().getNumber();
        configured = "small";
        System.out.println("size " + Kind.SMALL.size);
    }
}
