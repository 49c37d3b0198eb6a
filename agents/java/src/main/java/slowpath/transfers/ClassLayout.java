/*
 * Which fields a class of the application has and which numbers they have in a {@link Watched}: those of its
 * application's ancestors come first. Read from a class file, so that it is known before the class is loaded.
 */
package slowpath.transfers;

import java.util.List;
import java.util.Set;

final class ClassLayout {
    private static final String CASE = "Case_";

    /** Names here have slashes between packages, as in class files. */
    final String name;
    /** That of the class it extends; null: neither that nor what is above is the application's. */
    final ClassLayout parent;
    /** Else it has no fields of its own here, but those of what it extends are read by its name, too. */
    final boolean isApplication;
    /** Fields that could have been received: neither static nor synthetic nor transient, and the only ones of their name. */
    final List<String> fields;
    /** Whether it is a message of Protocol Buffers, whose fields have names of their own. */
    final boolean isMessage;
    /** Number of the first of {@link #fields}. */
    final int firstNumber;
    /** Every field of the class as {@link #key}: these are read by its name, and not what it inherits. */
    private final Set<String> declared;

    ClassLayout(String name, ClassLayout parent, boolean isApplication, List<String> fields, Set<String> declared,
            boolean isMessage) {
        this.name = name;
        this.parent = parent;
        this.isApplication = isApplication;
        this.fields = List.copyOf(fields);
        this.declared = Set.copyOf(declared);
        this.isMessage = isMessage;
        firstNumber = parent == null ? 0 : parent.end();
    }

    /** One more than the largest number. */
    int end() {
        return firstNumber + fields.size();
    }

    /** The ancestor, or the class itself, whose objects refer to what watches them; null: there are no fields. */
    ClassLayout holder() {
        ClassLayout holder = parent == null ? null : parent.holder();
        return holder != null || fields.isEmpty() ? holder : this;
    }

    /** A field as class files name it: obfuscators give fields of different types one name. */
    static String key(String field, String type) {
        return field + '.' + type;
    }

    /** The number of the field that a class file means by a name and a descriptor, or -1 if it is none of these. */
    int numberOf(String field, String type) {
        if (declared.contains(key(field, type))) {
            return ownNumberOf(field);
        }
        return parent == null ? -1 : parent.numberOf(field, type);
    }

    private int ownNumberOf(String field) {
        int index = fields.indexOf(field);
        return index < 0 ? -1 : firstNumber + index;
    }

    /**
     * The number of the field of which a method of this name learns something where it reads a field of the class; -1: of
     * none. So messages know which fields are set, and which member of a oneof.
     */
    int numberReadBy(String method, String field, String type) {
        int number = numberOf(field, type);
        if (number >= 0 || !isMessage) {
            return number;
        }
        if (field.endsWith(CASE)) {
            return ownNumberOf(ofCase(field));
        }
        boolean isPresence = field.startsWith("bitField") && method.startsWith("has") && method.length() > 3;
        return isPresence ? ownNumberOf(Character.toLowerCase(method.charAt(3)) + method.substring(4) + "_") : -1;
    }

    /** The field that has the members of a oneof, by that which says which one is set; null: it can be none such. */
    static String ofCase(String field) {
        return field.endsWith(CASE) ? field.substring(0, field.length() - CASE.length()) + "_" : null;
    }

    /** What a field of a message is called in the message's definition; null: it is no part of the message. */
    static String ofMessage(String field) {
        boolean isPart = field.endsWith("_") && !field.matches("bitField\\d+_");
        return isPart ? field.substring(0, field.length() - 1) : null;
    }
}
