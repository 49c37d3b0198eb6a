/*
 * Prints of a class's nested classes which fields JSON fills, and how long constants of enums are, as the agent has it.
 *   java slowpath.transfers.Shapes CLASS
 */
package slowpath.transfers;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

public final class Shapes {
    private Shapes() {}

    public static void main(String[] arguments) throws ClassNotFoundException {
        Class<?>[] shapes = Class.forName(arguments[0]).getDeclaredClasses();
        Arrays.sort(shapes, Comparator.comparing(Class::getSimpleName));
        for (Class<?> shape : shapes) {
            if (shape.isEnum()) {
                System.out.println(shape.getSimpleName() + " " + JsonSize.of(shape.getEnumConstants()[0]));
            } else {
                List<Field> fields = List.of(shape.getDeclaredFields());
                List<String> names = JsonNames.of(shape, fields);
                for (int field = 0; field < fields.size(); field++) {
                    System.out.println(shape.getSimpleName() + "." + fields.get(field).getName() + " "
                            + (names.get(field) != null));
                }
            }
        }
    }
}
