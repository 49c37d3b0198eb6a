/*
 * What the fields of a class are called in JSON, and which ones it never fills, as annotations of Jackson and Gson on
 * fields, getters and setters say. What else decides it (mix-ins, views, naming strategies) is not seen.
 */
package slowpath.transfers;

import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.MalformedParametersException;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

final class JsonNames {
    private static final String JACKSON = "com.fasterxml.jackson.annotation.";

    private JsonNames() {}

    /** By number; null: JSON never fills the field. */
    static List<String> of(Class<?> type, List<Field> fields) {
        List<String> names = new ArrayList<>();
        try {
            Set<String> ignored = listedBy(type, "JsonIgnoreProperties");
            Set<String> only = listedBy(type, "JsonIncludeProperties");
            for (Field field : fields) {
                String name = of(field, type, fields);
                boolean isFilled = name != null && !ignored.contains(name) && (only.isEmpty() || only.contains(name));
                names.add(isFilled ? name : null);
            }
            return names;
        } catch (RuntimeException | LinkageError cause) { // A class that annotations name is missing.
            return fields.stream().map(Field::getName).collect(Collectors.toList());
        }
    }

    private static String of(Field field, Class<?> owner, List<Field> fields) {
        String name = field.getName();
        boolean isIgnored = isIgnored(field.getType());
        boolean isNamed = false;
        List<AnnotatedElement> accessors = accessors(field);
        addParameters(accessors, field, owner, fields);
        for (AnnotatedElement element : accessors) {
            for (Annotation annotation : element.getDeclaredAnnotations()) {
                String type = annotation.annotationType().getName();
                if (type.equals(JACKSON + "JsonIgnore")) {
                    isIgnored |= !Boolean.FALSE.equals(value(annotation, "value"));
                } else if (type.equals(JACKSON + "JsonBackReference")) {
                    return null; // Jackson sets it to the object that has this one.
                } else if (type.equals(JACKSON + "JsonGetter") || type.equals(JACKSON + "JsonSetter")) {
                    name = given(annotation, name);
                } else if (type.equals(JACKSON + "JsonProperty")) {
                    if ("READ_ONLY".equals(String.valueOf(value(annotation, "access")))) {
                        return null;
                    }
                    isNamed = true;
                    name = given(annotation, name);
                } else if (type.equals("com.google.gson.annotations.SerializedName")) {
                    name = String.valueOf(value(annotation, "value"));
                }
            }
        }
        // One that is named somewhere, too, may be ignored in the other direction alone.
        return isIgnored && !isNamed ? null : name;
    }

    /** The field, its getters and setters. */
    private static List<AnnotatedElement> accessors(Field field) {
        List<AnnotatedElement> accessors = new ArrayList<>(List.of(field));
        String name = field.getName();
        String capital = Character.toUpperCase(name.charAt(0)) + name.substring(1);
        Set<String> names = Set.of(name, "get" + capital, "is" + capital, "set" + capital);
        try {
            for (Method method : field.getDeclaringClass().getDeclaredMethods()) {
                if (names.contains(method.getName())) {
                    accessors.add(method);
                }
            }
        } catch (LinkageError | TypeNotPresentException cause) {
            // A class that its methods name is missing.
        }
        return accessors;
    }

    /** Of constructors, those with the field's name; where names are not told, of one that has the class's fields in order. */
    private static void addParameters(
            List<AnnotatedElement> accessors, Field field, Class<?> type, List<Field> fields) {
        Class<?>[] types = fields.stream().map(Field::getType).toArray(Class<?>[]::new);
        int place = fields.indexOf(field);
        try {
            for (Constructor<?> constructor : type.getDeclaredConstructors()) {
                boolean hasAll = Arrays.equals(types, constructor.getParameterTypes());
                Parameter[] parameters = constructor.getParameters();
                for (int i = 0; i < parameters.length; i++) {
                    boolean isNamed = parameters[i].isNamePresent();
                    if (isNamed ? parameters[i].getName().equals(field.getName()) : hasAll && i == place) {
                        accessors.add(parameters[i]);
                    }
                }
            }
        } catch (LinkageError | TypeNotPresentException | MalformedParametersException cause) {
            // A class that they name is missing.
        }
    }

    /** The name that an annotation gives, or the one before. */
    private static String given(Annotation annotation, String before) {
        Object given = value(annotation, "value");
        return given instanceof String && !((String) given).isEmpty() ? (String) given : before;
    }

    /** Whether Jackson leaves out all fields of this type. */
    private static boolean isIgnored(Class<?> type) {
        Annotation annotation = declared(type, "JsonIgnoreType");
        return annotation != null && !Boolean.FALSE.equals(value(annotation, "value"));
    }

    /** The names that such an annotation of the class, or of the ancestor from which it inherits one, lists for reading. */
    private static Set<String> listedBy(Class<?> type, String annotation) {
        Annotation found = declared(type, annotation);
        Object names = found == null ? null : value(found, "value");
        return names instanceof String[] && !Boolean.TRUE.equals(value(found, "allowSetters"))
                ? Set.copyOf(List.of((String[]) names)) : Set.of();
    }

    /** An annotation of Jackson; null: neither the class nor an ancestor has it. */
    private static Annotation declared(Class<?> type, String name) {
        for (Class<?> ancestor = type; ancestor != null; ancestor = ancestor.getSuperclass()) {
            for (Annotation annotation : ancestor.getDeclaredAnnotations()) {
                if (annotation.annotationType().getName().equals(JACKSON + name)) {
                    return annotation;
                }
            }
        }
        return null;
    }

    private static Object value(Annotation annotation, String name) {
        try {
            return annotation.annotationType().getMethod(name).invoke(annotation);
        } catch (ReflectiveOperationException | RuntimeException | LinkageError cause) {
            return null; // Another version.
        }
    }
}
