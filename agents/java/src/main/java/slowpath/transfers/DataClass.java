/*
 * A loaded class of the application as its objects' fields are told and read: by the numbers of its layout.
 */
package slowpath.transfers;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.function.Predicate;

final class DataClass {
    /** What rows are kept by: it does not keep the class itself, which may be unloaded. */
    static final class Shape {
        final String className;
        final List<String> names;
        /** Those, each told from the others. */
        final List<String> shown;
        final List<String> types;
        private final List<String> jsonNames;
        private final BitSet notOfRows;
        private final BitSet referring;
        /** Whether it has no row of its own, but is part of an entity's (`@Embeddable`). */
        final boolean isEmbedded;

        /**
         * @param jsonNames null for fields that JSON never fills
         * @param notOfRows by number: fields that are no column of a row, as they are `@Transient`
         * @param referring by number: fields of entities that stand for other entities
         */
        private Shape(String className, List<String> names, List<String> shown, List<String> types,
                List<String> jsonNames, BitSet notOfRows, BitSet referring, boolean isEmbedded) {
            this.className = className;
            this.names = names;
            this.shown = shown;
            this.types = types;
            this.jsonNames = jsonNames;
            this.notOfRows = notOfRows;
            this.referring = referring;
            this.isEmbedded = isEmbedded;
        }

        /** Whether annotations say that it stands for other entities. */
        boolean refers(int field) {
            return referring.get(field);
        }

        /** What a field is called that travels so; null: it does not, but is the program's own. */
        String name(int field, Encoding encoding) {
            if (encoding == Encoding.JSON) {
                return jsonNames.get(field);
            }
            return encoding == Encoding.ROW && notOfRows.get(field) ? null : names.get(field);
        }

        /** Whether any field travels so. */
        boolean travels(Encoding encoding) {
            for (int field = 0; field < names.size(); field++) {
                if (name(field, encoding) != null) {
                    return true;
                }
            }
            return false;
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

    /** Of each class, found once. */
    static final class Known {
        private final ClassValue<DataClass[]> dataClasses;

        Known(ClassLayouts layouts) {
            dataClasses = new ClassValue<>() {
                @Override
                protected DataClass[] computeValue(Class<?> type) {
                    return new DataClass[] {DataClass.of(type, layouts)};
                }
            };
        }

        /** Null: see {@link DataClass#of}. */
        DataClass of(Class<?> type) {
            return dataClasses.get(type)[0];
        }
    }

    /** What fields of entities have that stand for other entities. */
    private static final List<String> ASSOCIATIONS = List.of(".persistence.ManyToOne", ".persistence.OneToOne",
            ".persistence.OneToMany", ".persistence.ManyToMany");

    final Shape shape;
    final List<Field> fields = new ArrayList<>();
    /** Whether the program may read an entity while it is loaded (`@PostLoad`), before anybody has received it. */
    final boolean isReadAtLoading;

    /** @return null where the class has no layout, or its fields cannot be read */
    static DataClass of(Class<?> type, ClassLayouts layouts) {
        ClassLayout layout = type.getClassLoader() == null ? null
                : layouts.of(type.getClassLoader(), type.getName().replace('.', '/'));
        if (layout == null || !layout.isApplication || layout.holder() == null) {
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
        List<String> shown = new ArrayList<>();
        List<String> types = new ArrayList<>();
        BitSet notOfRows = new BitSet();
        BitSet referring = new BitSet();
        boolean isByGetters = isByGetters(type);
        for (Field field : fields) {
            field.setAccessible(true);
            int number = types.size();
            names.add(layout.isMessage ? ClassLayout.ofMessage(field.getName()) : field.getName());
            shown.add(isHidden(number) ? simpleName(field.getDeclaringClass()) + '.' + field.getName() : names.get(number));
            types.add(field.getType().getTypeName());
            // Entities have annotations there whose properties are their getters; Spring Data takes its own from anywhere.
            notOfRows.set(number, has(field, ".Transient") || isOfGetter(field, getter ->
                    isByGetters && has(getter, ".persistence.Transient")
                            || has(getter, ".springframework.data.annotation.Transient")));
            referring.set(number, isByGetters ? isOfGetter(field, DataClass::isAssociation) : isAssociation(field));
        }
        shape = new Shape(type.getName(), names, shown, types, JsonNames.of(type, fields), notOfRows, referring,
                has(type, ".persistence.Embeddable"));
        isReadAtLoading = hearsOfLoading(type);
    }

    private void add(Class<?> type, ClassLayout layout) throws NoSuchFieldException {
        if (layout.parent != null) {
            Class<?> ancestor = type.getSuperclass();
            while (!ancestor.getName().equals(layout.parent.name.replace('/', '.'))) {
                ancestor = ancestor.getSuperclass();
            }
            add(ancestor, layout.parent);
        }
        Modules.open(type.getModule(), type.getPackageName());
        for (String name : layout.fields) {
            fields.add(type.getDeclaredField(name));
        }
    }

    /** Whether a field has the same name that is declared below. */
    private boolean isHidden(int number) {
        String name = fields.get(number).getName();
        return fields.stream().skip(number + 1).anyMatch(below -> below.getName().equals(name));
    }

    private static String simpleName(Class<?> type) {
        return type.getName().substring(type.getName().lastIndexOf('.') + 1);
    }

    private static boolean isAssociation(AnnotatedElement annotated) {
        return ASSOCIATIONS.stream().anyMatch(name -> has(annotated, name));
    }

    private static boolean isOfGetter(Field field, Predicate<Method> condition) {
        String capital = JsonNames.capital(field.getName());
        for (String getter : List.of("get" + capital, "is" + capital)) {
            try {
                if (condition.test(field.getDeclaringClass().getDeclaredMethod(getter))) {
                    return true;
                }
            } catch (NoSuchMethodException | LinkageError | TypeNotPresentException cause) {
                // It has no such getter, or a class that its methods name is missing.
            }
        }
        return false;
    }

    /** Whether an entity's properties are its getters: one of them is the identifier. Else its fields are. */
    private static boolean isByGetters(Class<?> type) {
        try {
            for (Class<?> ancestor = type; ancestor != null; ancestor = ancestor.getSuperclass()) {
                for (Method method : ancestor.getDeclaredMethods()) {
                    if (has(method, ".persistence.Id") || has(method, ".persistence.EmbeddedId")) {
                        return true;
                    }
                }
            }
        } catch (LinkageError | TypeNotPresentException cause) {
            // A class that its methods name is missing.
        }
        return false;
    }

    private static boolean hearsOfLoading(Class<?> type) {
        try {
            for (Class<?> ancestor = type; ancestor != null; ancestor = ancestor.getSuperclass()) {
                if (has(ancestor, ".persistence.EntityListeners")) {
                    return true;
                }
                for (Method method : ancestor.getDeclaredMethods()) {
                    if (has(method, ".persistence.PostLoad")) {
                        return true;
                    }
                }
            }
            return false;
        } catch (LinkageError | TypeNotPresentException cause) {
            return true; // A class that its methods name is missing.
        }
    }

    /** Whether it has an annotation whose name ends so. */
    static boolean has(AnnotatedElement annotated, String name) {
        for (Annotations.One annotation : Annotations.of(annotated)) {
            if (annotation.type.endsWith(name)) {
                return true;
            }
        }
        return false;
    }

    /** The values of an object's fields, by number. */
    Object[] values(Object object) {
        Object[] values = new Object[fields.size()];
        ThreadState thread = ThreadState.current();
        int uncounted = thread.uncounted;
        thread.beginUncounted();
        try {
            for (int field = 0; field < values.length; field++) {
                values[field] = fields.get(field).get(object);
            }
        } catch (IllegalAccessException cause) {
            throw new IllegalStateException(cause);
        } finally {
            thread.uncounted = uncounted;
            thread.endUncounted();
        }
        return values;
    }
}
