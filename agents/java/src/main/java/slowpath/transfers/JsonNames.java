/*
 * What the fields of a class are called in JSON, and which ones it never fills, as annotations of Jackson, Gson and JSON-B
 * on fields, getters, setters and parameters say. What else decides it (mix-ins, views, naming strategies) is not seen, so
 * a field counts as filled unless it cannot be: of one that is left out, no use is told.
 */
package slowpath.transfers;

import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.MalformedParametersException;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

final class JsonNames {
    private static final String JACKSON = "com.fasterxml.jackson.annotation.";
    /** By these Jackson knows of a setter, field or parameter though another part of the property is ignored. */
    private static final Set<String> SAY_MORE = Set.of("JsonProperty", "JsonSetter", "JsonGetter", "JsonDeserialize",
            "JsonFormat", "JsonView", "JsonTypeInfo", "JsonUnwrapped", "JsonMerge");

    private JsonNames() {}

    /** By number; null: JSON never fills the field. */
    static List<String> of(Class<?> type, List<Field> fields) {
        List<String> names = new ArrayList<>();
        try {
            if (isOfElements(type)) {
                return new ArrayList<>(Collections.nCopies(fields.size(), null));
            }
            boolean isBuilt = isBuilt(type);
            List<String> ignored = isBuilt ? null : listedBy(type, "JsonIgnoreProperties");
            List<String> only = isBuilt ? null : listedBy(type, "JsonIncludeProperties");
            boolean takesAny = takesAny(type);
            for (Field field : fields) {
                boolean mayBeFilled = isBuilt || takesAny && Map.class.isAssignableFrom(field.getType())
                        || annotation(field, JACKSON + "JsonAnySetter") != null;
                String name = of(field, type, fields, mayBeFilled);
                boolean isFilled = name != null && (ignored == null || !ignored.contains(name))
                        && (only == null || isIncluded(only, name));
                names.add(isFilled ? name : null);
            }
            return names;
        } catch (RuntimeException | LinkageError cause) { // A class that annotations name is missing.
            return fields.stream().map(Field::getName).collect(Collectors.toList());
        }
    }

    /** Whether in JSON it has elements alone, as lists and maps have. */
    private static boolean isOfElements(Class<?> type) {
        if (!Collection.class.isAssignableFrom(type) && !Map.class.isAssignableFrom(type)) {
            return false;
        }
        Annotations.One format = declared(type, "JsonFormat");
        String shape = format == null ? "" : String.valueOf(format.value("shape"));
        return !shape.equals("OBJECT") && !shape.equals("POJO");
    }

    /**
     * Whether code of the program makes the object of another one that Jackson fills (a builder, the parameter of a creator) or
     * of the text itself: annotations here do not count then.
     */
    private static boolean isBuilt(Class<?> type) {
        for (Annotations.One annotation : Annotations.of(type)) {
            if (annotation.type.endsWith(".jackson.databind.annotation.JsonDeserialize")) {
                Object builder = annotation.value("builder");
                Object using = annotation.value("using");
                if (builder != null && !builder.equals("java.lang.Void")
                        || using != null && !using.toString().endsWith("Deserializer$None")) {
                    return true;
                }
            }
        }
        for (Executable creator : creators(type)) {
            Annotations.One annotation = annotation(creator, JACKSON + "JsonCreator");
            if (annotation != null && creator.getParameterCount() == 1) {
                String mode = String.valueOf(annotation.value("mode"));
                boolean isNamed = annotation(creator.getParameters()[0], JACKSON + "JsonProperty") != null;
                if (mode.equals("DELEGATING") || !mode.matches("PROPERTIES|DISABLED") && !isNamed) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Whether it is given what JSON has beside its properties, to keep it in a map of its own. */
    private static boolean takesAny(Class<?> type) {
        try {
            for (Class<?> ancestor = type; ancestor != null; ancestor = ancestor.getSuperclass()) {
                for (Method method : ancestor.getDeclaredMethods()) {
                    if (annotation(method, JACKSON + "JsonAnySetter") != null) {
                        return true;
                    }
                }
            }
        } catch (LinkageError | TypeNotPresentException cause) {
            return true; // A class that its methods name is missing.
        }
        return false;
    }

    /** Constructors, and methods that Jackson calls instead. */
    private static List<Executable> creators(Class<?> type) {
        List<Executable> creators = new ArrayList<>();
        try {
            creators.addAll(List.of(type.getDeclaredConstructors()));
            for (Method method : type.getDeclaredMethods()) {
                if (annotation(method, JACKSON + "JsonCreator") != null) {
                    creators.add(method);
                }
            }
        } catch (LinkageError | TypeNotPresentException cause) {
            // A class that they name is missing.
        }
        return creators;
    }

    /** Whether a list of properties may have one: by which strategy they are named is not known. */
    private static boolean isIncluded(List<String> only, String name) {
        for (String listed : only) {
            String plain = plain(listed);
            if (plain.equals(plain(name)) || ("is" + plain).equals(plain(name))) {
                return true;
            }
        }
        return false;
    }

    /** The same for `firstName`, `first_name`, `first-name` and `FirstName`. */
    private static String plain(String name) {
        return name.replaceAll("[-_. ]", "").toLowerCase(Locale.ROOT);
    }

    /**
     * Jackson leaves out a property of which anything is ignored, unless another part of it, which is not, says more; then
     * it leaves out the parts that are.
     */
    private static String of(Field field, Class<?> owner, List<Field> fields, boolean mayBeFilled) {
        String name = field.getName();
        boolean isIgnored = isIgnored(field.getType());
        boolean isSetterIgnored = false;
        boolean isNamed = mayBeFilled;
        boolean isGetterNamed = false;
        List<AnnotatedElement> accessors = accessors(field);
        addParameters(accessors, field, owner, fields);
        for (AnnotatedElement element : accessors) {
            boolean isSetter = element instanceof Method && ((Method) element).getParameterCount() > 0;
            boolean isGetter = element instanceof Method && !isSetter;
            boolean saysMore = false;
            boolean ignores = false;
            for (Annotations.One annotation : Annotations.of(element)) {
                String type = annotation.type;
                String kind = type.substring(type.lastIndexOf('.') + 1);
                boolean isJackson = type.startsWith(JACKSON) || type.contains(".jackson.databind.annotation.");
                saysMore |= isJackson && SAY_MORE.contains(kind);
                if (type.equals(JACKSON + "JsonIgnore")) {
                    ignores |= !Boolean.FALSE.equals(annotation.value("value"));
                } else if (type.equals(JACKSON + "JsonBackReference")) {
                    return null; // Jackson sets it to the object that has this one.
                } else if (isJackson && kind.matches("JsonGetter|JsonSetter")) {
                    name = given(annotation, name);
                } else if (type.equals(JACKSON + "JsonProperty")) {
                    if ("READ_ONLY".equals(String.valueOf(annotation.value("access"))) && !mayBeFilled) {
                        return null;
                    }
                    name = given(annotation, name);
                } else if (type.equals("com.google.gson.annotations.SerializedName")) {
                    name = given(annotation, name);
                } else if (type.contains(".json.bind.annotation.") && !isGetter) {
                    if (kind.equals("JsonbTransient")) {
                        return null;
                    }
                    name = kind.equals("JsonbProperty") ? given(annotation, name) : name;
                }
            }
            isIgnored |= ignores;
            isSetterIgnored |= ignores && isSetter;
            isNamed |= saysMore && !ignores && !isGetter;
            isGetterNamed |= saysMore && !ignores && isGetter;
        }
        return isIgnored && !isNamed && (!isGetterNamed || isSetterIgnored) ? null : name;
    }

    /** The field, its getters and setters. */
    private static List<AnnotatedElement> accessors(Field field) {
        List<AnnotatedElement> accessors = new ArrayList<>(List.of(field));
        String name = field.getName();
        String capital = capital(name);
        Set<String> names = new HashSet<>(List.of(name, "get" + capital, "is" + capital, "set" + capital));
        if (name.startsWith("is") && name.length() > 2) {
            names.add("set" + name.substring(2));
        }
        try {
            for (Method method : field.getDeclaringClass().getDeclaredMethods()) {
                boolean isSetter = method.getParameterCount() == 1;
                if (names.contains(method.getName()) || isSetter && name.equals(nameGiven(method))) {
                    accessors.add(method);
                }
            }
        } catch (LinkageError | TypeNotPresentException cause) {
            // A class that its methods name is missing.
        }
        return accessors;
    }

    static String capital(String name) {
        return Character.toUpperCase(name.charAt(0)) + name.substring(1);
    }

    /**
     * Of constructors and what Jackson calls instead, those with the field's name; where names are not told, of one that
     * has the class's fields in order.
     */
    private static void addParameters(
            List<AnnotatedElement> accessors, Field field, Class<?> type, List<Field> fields) {
        Class<?>[] types = fields.stream().map(Field::getType).toArray(Class<?>[]::new);
        List<String> names = fields.stream().map(Field::getName).collect(Collectors.toList());
        int place = fields.indexOf(field);
        try {
            for (Executable creator : creators(type)) {
                boolean hasAll = Arrays.equals(types, creator.getParameterTypes());
                Parameter[] parameters = creator.getParameters();
                for (int i = 0; i < parameters.length; i++) {
                    String told = parameters[i].isNamePresent() ? parameters[i].getName() : null;
                    told = names.contains(told) ? told : nameGiven(parameters[i]);
                    boolean isOf = names.contains(told) ? told.equals(field.getName())
                            : hasAll && i == place && !parameters[i].isNamePresent();
                    if (isOf) {
                        accessors.add(parameters[i]);
                    }
                }
            }
        } catch (LinkageError | TypeNotPresentException | MalformedParametersException cause) {
            // A class that they name is missing.
        }
    }

    /** Null: the element itself has none of this name. */
    static Annotations.One annotation(AnnotatedElement element, String name) {
        for (Annotations.One annotation : Annotations.of(element)) {
            if (annotation.type.equals(name)) {
                return annotation;
            }
        }
        return null;
    }

    /** The name that Jackson is told of what fills a property; null: none. */
    private static String nameGiven(AnnotatedElement element) {
        for (Annotations.One annotation : Annotations.of(element)) {
            String type = annotation.type;
            if (type.equals(JACKSON + "JsonProperty") || type.equals(JACKSON + "JsonSetter")) {
                return given(annotation, null);
            }
        }
        return null;
    }

    /** The name that an annotation gives, or the one before. */
    static String given(Annotations.One annotation, String before) {
        Object given = annotation.value("value");
        return given instanceof String && !((String) given).isEmpty() ? (String) given : before;
    }

    /** Whether Jackson leaves out all fields of this type. */
    private static boolean isIgnored(Class<?> type) {
        Annotations.One annotation = declared(type, "JsonIgnoreType");
        return annotation != null && !Boolean.FALSE.equals(annotation.value("value"));
    }

    /** Names that the class, or the ancestor from which it inherits it, lists in an annotation for reading; null: in none. */
    private static List<String> listedBy(Class<?> type, String annotation) {
        Annotations.One found = declared(type, annotation);
        if (found == null || Boolean.TRUE.equals(found.value("allowSetters"))) {
            return null;
        }
        List<String> names = new ArrayList<>();
        if (found.value("value") instanceof List) {
            ((List<?>) found.value("value")).forEach(name -> names.add((String) name));
        }
        return names;
    }

    /** An annotation of Jackson; null: neither the class nor an ancestor has it. */
    private static Annotations.One declared(Class<?> type, String name) {
        for (Class<?> ancestor = type; ancestor != null; ancestor = ancestor.getSuperclass()) {
            Annotations.One annotation = annotation(ancestor, JACKSON + name);
            if (annotation != null) {
                return annotation;
            }
        }
        return null;
    }
}
