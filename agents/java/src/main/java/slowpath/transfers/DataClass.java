/*
 * A loaded class of the application as its objects' fields are told and read: by the numbers of its layout.
 */
package slowpath.transfers;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;

final class DataClass {
    /** What rows are kept by: it does not keep the class itself, which may be unloaded. */
    static final class Shape {
        final String className;
        final List<String> names;
        final List<String> types;

        private Shape(String className, List<String> names, List<String> types) {
            this.className = className;
            this.names = names;
            this.types = types;
        }

        @Override
        public int hashCode() {
            return className.hashCode();
        }

        @Override
        public boolean equals(Object other) {
            return this == other || other instanceof Shape && className.equals(((Shape) other).className)
                    && names.equals(((Shape) other).names) && types.equals(((Shape) other).types);
        }
    }

    final Shape shape;
    private final List<Field> fields = new ArrayList<>();

    /** @return null where the class has no layout, or its fields cannot be read */
    static DataClass of(Class<?> type, ClassLayouts layouts) {
        ClassLayout layout = type.getClassLoader() == null ? null
                : layouts.of(type.getClassLoader(), type.getName().replace('.', '/'));
        if (layout == null || layout.holder() == null) {
            return null;
        }
        try {
            return new DataClass(type, layout);
        } catch (NoSuchFieldException | RuntimeException | LinkageError cause) {
            return null;
        }
    }

    private DataClass(Class<?> type, ClassLayout layout) throws NoSuchFieldException {
        add(type, layout);
        List<String> names = new ArrayList<>();
        List<String> types = new ArrayList<>();
        for (Field field : fields) {
            field.setAccessible(true);
            names.add(layout.isMessage ? ClassLayout.ofMessage(field.getName()) : field.getName());
            types.add(field.getType().getTypeName());
        }
        shape = new Shape(type.getName(), names, types);
    }

    private void add(Class<?> type, ClassLayout layout) throws NoSuchFieldException {
        if (layout.parent != null) {
            Class<?> ancestor = type.getSuperclass();
            while (!ancestor.getName().equals(layout.parent.name.replace('/', '.'))) {
                ancestor = ancestor.getSuperclass();
            }
            add(ancestor, layout.parent);
        }
        for (String name : layout.fields) {
            fields.add(type.getDeclaredField(name));
        }
    }

    /** The values of an object's fields, by number. */
    Object[] values(Object object) {
        Object[] values = new Object[fields.size()];
        for (int field = 0; field < values.length; field++) {
            try {
                values[field] = fields.get(field).get(object);
            } catch (IllegalAccessException cause) {
                throw new IllegalStateException(cause);
            }
        }
        return values;
    }

    /** The number of the field that the class means by a name, or -1. */
    int numberOf(String name) {
        int number = fields.size() - 1;
        while (number >= 0 && !fields.get(number).getName().equals(name)) {
            number--;
        }
        return number;
    }
}
