/*
 * JSON as Jackson and Gson keep it, looked into by the fields of its nodes: their text would be made of the whole tree while
 * the application waits, and by its own code where it has put its objects inside.
 */
package slowpath.transfers;

import java.lang.reflect.Field;
import java.util.List;
import java.util.Optional;

final class JsonTree {
    /** Those that have what a node stands for, in any of the libraries; a node of null has none. */
    private static final List<String> FIELDS = List.of("_children", "_value", "_data", "members", "elements", "value");
    private static final ClassValue<Optional<Field>> OF_CLASS = new ClassValue<>() {
        @Override
        protected Optional<Field> computeValue(Class<?> type) {
            return Optional.ofNullable(find(type));
        }
    };

    private JsonTree() {}

    static boolean isNode(String type) {
        return type.startsWith("com.fasterxml.jackson.databind.node.") || type.startsWith("tools.jackson.databind.node.")
                || type.startsWith("com.google.gson.Json");
    }

    /** What a node stands for: nodes by name, a list of nodes, a text, a number and so on. */
    static Object content(Object node) {
        Optional<Field> field = OF_CLASS.get(node.getClass());
        try {
            return field.isEmpty() ? null : field.get().get(node);
        } catch (IllegalAccessException cause) {
            return null;
        }
    }

    private static Field find(Class<?> type) {
        for (String name : FIELDS) {
            try {
                Field field = type.getDeclaredField(name);
                Modules.open(type.getModule(), type.getPackageName());
                field.setAccessible(true);
                return field;
            } catch (NoSuchFieldException | RuntimeException cause) {
                // Maybe the next one.
            }
        }
        return null;
    }
}
