/*
 * Keeps the names of parameters that reflection tells, of classes that are rewritten when they are loaded: before 21 the
 * JVM hands out, and goes on with, a class file without them (JDK-8240908), and what names its parameters so, as Spring
 * does those of records' constructors and of controllers, fails. They are asked for before, and put into the class file.
 */
package slowpath.transfers;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.MalformedParametersException;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.security.ProtectionDomain;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.function.Supplier;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

final class ParameterNames implements ClassFileTransformer {
    private static final int KEPT_BY_JVM_SINCE = 21;

    private final Instrumentation instrumentation;
    /** Of each class that was rewritten and has any, for when somebody else has it rewritten again: by name and type. */
    private final Map<Class<?>, Map<String, Parameters>> known = Collections.synchronizedMap(new WeakHashMap<>());

    /** Before other transformers come, which shall find the names, too. */
    ParameterNames(Instrumentation instrumentation) {
        this.instrumentation = instrumentation;
        if (Runtime.version().feature() < KEPT_BY_JVM_SINCE) {
            instrumentation.addTransformer(this, true);
        }
    }

    /** Has a class that is loaded rewritten; where its names cannot be asked for, it stays as it is: an exception. */
    void retransform(Class<?> type) throws UnmodifiableClassException {
        if (Runtime.version().feature() < KEPT_BY_JVM_SINCE && !known.containsKey(type)) {
            Map<String, Parameters> methods = of(type);
            if (!methods.isEmpty()) {
                known.put(type, methods);
            }
        }
        instrumentation.retransformClasses(type);
    }

    private static Map<String, Parameters> of(Class<?> type) {
        Map<String, Parameters> named = new HashMap<>();
        for (Constructor<?> constructor : declared(type::getDeclaredConstructors, type::getConstructors)) {
            add("<init>" + Type.getConstructorDescriptor(constructor), constructor, named);
        }
        for (Method method : declared(type::getDeclaredMethods, type::getMethods)) {
            if (method.getDeclaringClass() == type) {
                add(method.getName() + Type.getMethodDescriptor(method), method, named);
            }
        }
        return named;
    }

    /** Those that reflection can tell of at all: with others there are types that the loader does not find. */
    private static <T extends Executable> T[] declared(Supplier<T[]> all, Supplier<T[]> accessible) {
        try {
            return all.get();
        } catch (LinkageError cause) {
            return accessible.get();
        }
    }

    private static void add(String method, Executable executable, Map<String, Parameters> named) {
        Parameter[] told;
        try {
            told = executable.getParameters();
        } catch (MalformedParametersException cause) {
            return; // Nobody can be told its names.
        }
        Parameters parameters = new Parameters(told.length);
        boolean isTold = false;
        for (int i = 0; i < told.length; i++) {
            parameters.names[i] = told[i].isNamePresent() ? told[i].getName() : null;
            parameters.access[i] = told[i].getModifiers();
            isTold |= told[i].isNamePresent() || told[i].getModifiers() != 0;
        }
        if (isTold) {
            named.put(method, parameters);
        }
    }

    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] file) {
        Map<String, Parameters> methods = redefined == null ? null : known.get(redefined);
        if (methods == null) {
            return null;
        }
        ClassReader reader = new ClassReader(file);
        Set<String> complete = complete(reader);
        ClassWriter writer = new ClassWriter(reader, 0);
        reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String type, String signature, String[] thrown) {
                MethodVisitor method = super.visitMethod(access, name, type, signature, thrown);
                Parameters parameters = methods.get(name + type);
                if (parameters == null || complete.contains(name + type)) {
                    return method;
                }
                for (int i = 0; i < parameters.names.length; i++) {
                    method.visitParameter(parameters.names[i], parameters.access[i]);
                }
                return new MethodVisitor(Opcodes.ASM9, method) { }; // What visits the writer itself copies, without them.
            }
        }, 0);
        return writer.toByteArray();
    }

    /** Methods whose parameters the class file tells, as where the JVM has kept it from when it was loaded. */
    private static Set<String> complete(ClassReader file) {
        Set<String> complete = new HashSet<>();
        file.accept(new ClassVisitor(Opcodes.ASM9) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String type, String signature, String[] thrown) {
                return new MethodVisitor(Opcodes.ASM9) {
                    @Override
                    public void visitParameter(String parameter, int access) {
                        complete.add(name + type);
                    }
                };
            }
        }, ClassReader.SKIP_CODE);
        return complete;
    }

    /** What a class file tells of a method's parameters; of one without a name null. */
    private static final class Parameters {
        private final String[] names;
        private final int[] access;

        Parameters(int count) {
            names = new String[count];
            access = new int[count];
        }
    }
}
