/*
 * Finds the layout of a class where all that is known is its name and who loads it: from the class file that
 * the loader gives, remembered for each loader. Where that cannot be had, reads of the class stay unseen, and
 * its objects must not be watched: `isSeen` says so.
 */
package slowpath.transfers;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLConnection;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.Opcodes;

final class ClassLayouts {
    private static final int NO_OBJECTS =
            Opcodes.ACC_INTERFACE | Opcodes.ACC_ANNOTATION | Opcodes.ACC_ENUM | Opcodes.ACC_MODULE;
    private static final String MESSAGE = "com/google/protobuf/Generated";

    private final Packages application;
    private final Known<Map<String, Optional<ClassLayout>>> known = new Known<>();
    private final Set<String> unseen = ConcurrentHashMap.newKeySet();

    ClassLayouts(Packages application) {
        this.application = application;
    }

    /** The layout of a class that is being loaded, from its own bytes; null: it has no data of the application. */
    ClassLayout of(ClassLoader loader, String name, ClassReader file) {
        Map<String, Optional<ClassLayout>> ofLoader = ofLoader(loader);
        ClassLayout layout = read(loader, name, file);
        Optional<ClassLayout> before = ofLoader.put(name, Optional.ofNullable(layout));
        if (before != null) {
            compare(name, before.orElse(null), layout);
        }
        compareAmongLoaders(loader, name, layout);
        return layout;
    }

    /** Where they differ, readers may have been rewritten for other numbers than the class has. */
    private void compare(String name, ClassLayout one, ClassLayout other) {
        if (!fields(one).equals(fields(other))) {
            unseen.add(name);
        }
    }

    /**
     * With what loaders above and below have by the name: whose class its readers are given is theirs to say, and the file
     * they tell of may be another than the one above, which changes classes when it defines them.
     */
    private void compareAmongLoaders(ClassLoader loader, String name, ClassLayout layout) {
        if (layout == null) {
            return; // So it is by every loader, but one without the file, of which that is known.
        }
        List<String> own = fields(layout);
        known.forEach((other, layouts) -> {
            Optional<ClassLayout> there = layouts.get(name);
            if (there != null && (isAbove((ClassLoader) other, loader) || isAbove(loader, (ClassLoader) other))
                    && !fields(there.orElse(null)).equals(own)) {
                unseen.add(name);
            }
        });
    }

    private static boolean isAbove(ClassLoader loader, ClassLoader other) {
        ClassLoader above = other.getParent();
        while (above != null && above != loader) {
            above = above.getParent();
        }
        return above != null;
    }

    /** All that have numbers, in their order. */
    private static List<String> fields(ClassLayout layout) {
        List<String> fields = new ArrayList<>();
        for (ClassLayout part = layout; part != null; part = part.parent) {
            fields.addAll(0, part.fields);
        }
        return fields;
    }

    /** The layout of a class by its name; null: it has no data of the application. */
    ClassLayout of(ClassLoader loader, String name) {
        if (name.startsWith("java/")) {
            return null;
        }
        Map<String, Optional<ClassLayout>> ofLoader = ofLoader(loader);
        Optional<ClassLayout> layout = ofLoader.get(name);
        if (layout == null) {
            layout = Optional.ofNullable(find(loader, name));
            Optional<ClassLayout> meanwhile = ofLoader.putIfAbsent(name, layout);
            layout = meanwhile == null ? layout : meanwhile;
            compareAmongLoaders(loader, name, layout.orElse(null));
        }
        return layout.orElse(null);
    }

    /** From now on reads of this class's fields may have been missed. */
    void missReadsOf(String name) {
        unseen.add(name);
    }

    /** Whether every read of a field by bytecode is seen, of a class: its name and those of its ancestors. */
    boolean isSeen(List<String> names) {
        return unseen.isEmpty() || Collections.disjoint(unseen, names);
    }

    /** The names of a class and its ancestors, with slashes. */
    static List<String> withAncestors(Class<?> type) {
        List<String> names = new ArrayList<>();
        for (Class<?> ancestor = type; ancestor != Object.class; ancestor = ancestor.getSuperclass()) {
            names.add(ancestor.getName().replace('.', '/'));
        }
        return names;
    }

    private ClassLayout find(ClassLoader loader, String name) {
        try (InputStream file = open(loader, name + ".class")) {
            if (file != null) {
                return read(loader, name, new ClassReader(file));
            }
        } catch (IOException | RuntimeException cause) {
            // as if there were none
        }
        unseen.add(name);
        return null;
    }

    /** Not through the cache of jars, where they would stay open though their loader is thrown away. */
    static InputStream open(ClassLoader loader, String file) throws IOException {
        URL place = loader.getResource(file);
        if (place == null) {
            return loader.getResourceAsStream(file);
        }
        URLConnection connection = place.openConnection();
        connection.setUseCaches(false);
        return connection.getInputStream();
    }

    private ClassLayout read(ClassLoader loader, String name, ClassReader file) {
        if ((file.getAccess() & NO_OBJECTS) != 0) {
            return null;
        }
        boolean isApplication = application.contain(name.replace('/', '.'));
        ClassLayout parent = file.getSuperName() == null ? null : of(loader, file.getSuperName());
        if (!isApplication && parent == null) {
            return null;
        }
        boolean isMessage = file.getSuperName() != null && file.getSuperName().startsWith(MESSAGE);
        List<String> fields = new ArrayList<>();
        Set<String> declared = new HashSet<>();
        Set<String> names = new HashSet<>();
        Set<String> homonyms = new HashSet<>();
        Set<String> oneofs = new HashSet<>();
        file.accept(new ClassVisitor(Opcodes.ASM9) {
            @Override
            public FieldVisitor visitField(int access, String field, String type, String signature, Object value) {
                declared.add(ClassLayout.key(field, type));
                if (!names.add(field)) {
                    homonyms.add(field);
                }
                if (isApplication && (access & (Opcodes.ACC_STATIC | Opcodes.ACC_SYNTHETIC | Opcodes.ACC_TRANSIENT)) == 0
                        && !field.endsWith("$delegate") // Kotlin's: what a property is computed by.
                        && (!isMessage || ClassLayout.ofMessage(field) != null)) {
                    fields.add(field);
                }
                // Texts are volatile.
                if (isMessage && type.equals("Ljava/lang/Object;") && (access & Opcodes.ACC_VOLATILE) == 0) {
                    oneofs.add(field);
                }
                return null;
            }
        }, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
        fields.removeIf(field -> homonyms.contains(field) || oneofs.contains(ClassLayout.ofCase(field)));
        return new ClassLayout(name, parent, isApplication, fields, declared, isMessage);
    }

    private Map<String, Optional<ClassLayout>> ofLoader(ClassLoader loader) {
        synchronized (known) {
            Map<String, Optional<ClassLayout>> layouts = known.of(loader);
            if (layouts == null) {
                layouts = new ConcurrentHashMap<>();
                known.remember(loader, layouts);
            }
            return layouts;
        }
    }
}
