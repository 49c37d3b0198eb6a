/*
 * How long the constants of an enum are in JSON: by what annotations of Jackson and Gson on it say, else by their names.
 * No method of the application is called: of a getter with `@JsonValue` the field of its name is read.
 */
package slowpath.transfers;

import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.lang.reflect.Method;

final class JsonEnums {
    private static final String JACKSON = "com.fasterxml.jackson.annotation.";
    /** By ordinal, in bytes; classes are found by what their loaders have, so nothing keeps them. */
    private static final ClassValue<long[]> LENGTHS = new ClassValue<>() {
        @Override
        protected long[] computeValue(Class<?> type) {
            Object[] constants = type.getEnumConstants();
            long[] lengths = new long[constants.length];
            for (int ordinal = 0; ordinal < lengths.length; ordinal++) {
                Enum<?> constant = (Enum<?>) constants[ordinal];
                lengths[ordinal] = 2 + constant.name().length();
                if (type.getClassLoader() != null) {
                    try {
                        lengths[ordinal] = ofAnnotated(type, constant);
                    } catch (ReflectiveOperationException | RuntimeException | LinkageError cause) {
                        // A class that its members name is missing, or they cannot be read.
                    }
                }
            }
            return lengths;
        }
    };

    private JsonEnums() {}

    static long of(Enum<?> constant) {
        return LENGTHS.get(constant.getDeclaringClass())[constant.ordinal()];
    }

    private static long ofAnnotated(Class<?> type, Enum<?> constant) throws ReflectiveOperationException {
        Field value = valued(type);
        if (value != null) {
            Modules.open(type.getModule(), type.getPackageName());
            value.setAccessible(true);
            return JsonSize.of(value.get(constant));
        }
        Annotations.One format = JsonNames.annotation(type, JACKSON + "JsonFormat");
        if (format != null && String.valueOf(format.value("shape")).startsWith("NUMBER")) {
            return String.valueOf(constant.ordinal()).length();
        }
        Field field = type.getDeclaredField(constant.name());
        for (String named : new String[] {JACKSON + "JsonProperty", "com.google.gson.annotations.SerializedName"}) {
            Annotations.One annotation = JsonNames.annotation(field, named);
            if (annotation != null) {
                return JsonSize.of(JsonNames.given(annotation, constant.name()));
            }
        }
        return 2 + constant.name().length();
    }

    /** The field that stands for a constant; null: there is none, or it cannot be told. */
    private static Field valued(Class<?> type) throws ReflectiveOperationException {
        for (Field field : type.getDeclaredFields()) {
            if (isValue(field)) {
                return field;
            }
        }
        for (Method method : type.getDeclaredMethods()) {
            if (isValue(method)) {
                String name = method.getName();
                boolean isGetter = name.startsWith("get") && name.length() > 3;
                return type.getDeclaredField(
                        isGetter ? Character.toLowerCase(name.charAt(3)) + name.substring(4) : name);
            }
        }
        return null;
    }

    private static boolean isValue(AccessibleObject member) {
        Annotations.One annotation = JsonNames.annotation(member, JACKSON + "JsonValue");
        return annotation != null && !Boolean.FALSE.equals(annotation.value("value"));
    }
}
