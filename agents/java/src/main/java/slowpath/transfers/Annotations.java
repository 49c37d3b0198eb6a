/*
 * The annotations of classes and their members, as class files have them. Not by reflection: that initialises each enum of
 * which an annotation names a constant, which is up to the application, and loads classes that annotations name.
 */
package slowpath.transfers;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.objectweb.asm.AnnotationVisitor;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

final class Annotations {
    /** One of them. */
    static final class One {
        /** The name of its class. */
        final String type;
        private final Map<String, Object> values = new HashMap<>();

        private One(String descriptor) {
            type = Type.getType(descriptor).getClassName();
        }

        /** What it has there; of classes and of constants of enums their names, of arrays a list; null: nothing is given. */
        Object value(String name) {
            return values.get(name);
        }
    }

    /** By {@link #key}. */
    private static final ClassValue<Map<String, List<One>>> OF_CLASS = new ClassValue<>() {
        @Override
        protected Map<String, List<One>> computeValue(Class<?> type) {
            return read(type);
        }
    };

    /** Of classes that were rewritten when they were loaded, by their loader and name. */
    private static final Known<Map<String, Map<String, List<One>>>> OF_LOADED = new Known<>();

    private Annotations() {}

    /**
     * Those of a class that is being loaded: later its loader would have to be asked for the file, on a thread of the
     * application's that may have locks for which the loader waits.
     * @param name with points
     */
    static void remember(ClassLoader loader, String name, ClassReader file) {
        Map<String, List<One>> all = read(file);
        synchronized (OF_LOADED) {
            Map<String, Map<String, List<One>>> ofLoader = OF_LOADED.of(loader);
            if (ofLoader == null) {
                ofLoader = new ConcurrentHashMap<>();
                OF_LOADED.remember(loader, ofLoader);
            }
            // Of two of a name the JVM takes the first, unless it has refused that.
            ofLoader.putIfAbsent(name, all.isEmpty() ? Map.of() : all);
        }
    }

    /**
     * Those that a class, field, method, constructor or parameter has itself; none where neither was the class remembered
     * nor has it a file.
     */
    static List<One> of(AnnotatedElement element) {
        Object member = element instanceof Parameter ? ((Parameter) element).getDeclaringExecutable() : element;
        Class<?> type = member instanceof Class ? (Class<?>) member : ((Member) member).getDeclaringClass();
        Map<String, List<One>> all = OF_CLASS.get(type);
        return all.isEmpty() ? List.of() : all.getOrDefault(key(element), List.of());
    }

    private static String key(AnnotatedElement element) {
        if (element instanceof Parameter) {
            Executable executable = ((Parameter) element).getDeclaringExecutable();
            return key(executable) + Arrays.asList(executable.getParameters()).indexOf(element);
        }
        return element instanceof Field ? ((Field) element).getName()
                : element instanceof Method ? ((Method) element).getName() + Type.getMethodDescriptor((Method) element)
                : element instanceof Constructor ? "<init>" + Type.getConstructorDescriptor((Constructor<?>) element)
                : "";
    }

    private static Map<String, List<One>> read(Class<?> type) {
        ClassLoader loader = type.getClassLoader();
        if (loader == null || type.isArray()) {
            return Map.of();
        }
        Map<String, Map<String, List<One>>> ofLoader = OF_LOADED.of(loader);
        Map<String, List<One>> remembered = ofLoader == null ? null : ofLoader.get(type.getName());
        if (remembered != null) {
            return remembered;
        }
        try (InputStream file = ClassLayouts.open(loader, type.getName().replace('.', '/') + ".class")) {
            return file == null ? Map.of() : read(new ClassReader(file));
        } catch (IOException | RuntimeException | LinkageError cause) {
            return Map.of(); // As if there were no file.
        }
    }

    private static Map<String, List<One>> read(ClassReader file) {
        Map<String, List<One>> all = new HashMap<>();
        try {
            file.accept(visitor(all), ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
        } catch (RuntimeException cause) {
            all.clear(); // None that anybody understands.
        }
        return all;
    }

    private static ClassVisitor visitor(Map<String, List<One>> all) {
        return new ClassVisitor(Opcodes.ASM9) {
            @Override
            public AnnotationVisitor visitAnnotation(String descriptor, boolean isVisible) {
                return add(all, "", descriptor, isVisible);
            }

            @Override
            public FieldVisitor visitField(int access, String field, String type, String signature, Object value) {
                return new FieldVisitor(Opcodes.ASM9) {
                    @Override
                    public AnnotationVisitor visitAnnotation(String descriptor, boolean isVisible) {
                        return add(all, field, descriptor, isVisible);
                    }
                };
            }

            @Override
            public MethodVisitor visitMethod(int access, String method, String type, String sign, String[] thrown) {
                return new MethodVisitor(Opcodes.ASM9) {
                    /** Parameters that the compiler has added, as for the object around, have none and come first. */
                    private int added;

                    @Override
                    public AnnotationVisitor visitAnnotation(String descriptor, boolean isVisible) {
                        return add(all, method + type, descriptor, isVisible);
                    }

                    @Override
                    public void visitAnnotableParameterCount(int count, boolean isVisible) {
                        added = Type.getArgumentTypes(type).length - count;
                    }

                    @Override
                    public AnnotationVisitor visitParameterAnnotation(
                            int parameter, String descriptor, boolean isVisible) {
                        return add(all, method + type + (parameter + added), descriptor, isVisible);
                    }
                };
            }
        };
    }

    /** @param isVisible whether reflection would tell of it */
    private static AnnotationVisitor add(
            Map<String, List<One>> all, String key, String descriptor, boolean isVisible) {
        if (!isVisible) {
            return null;
        }
        One one = new One(descriptor);
        all.computeIfAbsent(key, none -> new ArrayList<>()).add(one);
        return new AnnotationVisitor(Opcodes.ASM9) {
            @Override
            public void visit(String name, Object value) {
                one.values.put(name, told(value));
            }

            @Override
            public void visitEnum(String name, String type, String value) {
                one.values.put(name, value);
            }

            @Override
            public AnnotationVisitor visitArray(String name) {
                List<Object> elements = new ArrayList<>();
                one.values.put(name, elements);
                return new AnnotationVisitor(Opcodes.ASM9) {
                    @Override
                    public void visit(String none, Object value) {
                        elements.add(told(value));
                    }
                };
            }
        };
    }

    private static Object told(Object value) {
        return value instanceof Type ? ((Type) value).getClassName() : value;
    }
}
