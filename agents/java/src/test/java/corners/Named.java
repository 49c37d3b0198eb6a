/*
 * Objects whose class has named parameters (`javac -parameters`), by which frameworks make objects and call methods; each
 * in a request of its own. In the end it says which are named still.
 *   java corners.Named OBJECTS
 */
package corners;

import jakarta.servlet.http.HttpServlet;
import java.lang.reflect.Executable;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.List;

public final class Named {
    static class Item {
        private final int number;
        private final String text;

        Item(final int number, String text) {
            this.number = number;
            this.text = text;
        }

        int plus(int added) {
            return number + added;
        }

        @Override
        public String toString() {
            return number + text;
        }
    }

    static volatile Object sink;

    private Named() {}

    static Item fetch(int itemNumber) {
        return new Item(itemNumber, "text");
    }

    private static Object serve() {
        sink = fetch(1).plus(1);
        return null;
    }

    private static List<String> parameters(Executable executable) {
        List<String> told = new ArrayList<>();
        for (Parameter parameter : executable.getParameters()) {
            told.add(parameter.isNamePresent() ? parameter.toString() : "nameless");
        }
        return told;
    }

    public static void main(String[] arguments) throws Exception {
        HttpServlet servlet = new HttpServlet(Named::serve);
        for (int object = 0; object < Integer.parseInt(arguments[0]); object++) {
            servlet.service(null);
            Thread.sleep(1);
        }
        System.gc();
        Thread.sleep(500);
        System.out.println(parameters(Item.class.getDeclaredConstructor(int.class, String.class)) + " "
                + parameters(Item.class.getDeclaredMethod("plus", int.class)) + " "
                + parameters(Named.class.getDeclaredMethod("fetch", int.class)));
    }
}
