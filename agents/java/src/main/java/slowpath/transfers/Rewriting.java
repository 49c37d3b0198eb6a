/*
 * Rewrites classes as the JVM loads them: those that may read fields of the application, where that is how reads are seen
 * (FieldReads), and methods of libraries through which remote objects come (HookedMethods). A class that cannot
 * be rewritten is left as it is; then its reads are missed, and what it reads is not watched.
 */
package slowpath.transfers;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Predicate;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

final class Rewriting implements ClassFileTransformer {
    /** Classes that could not be rewritten. */
    static final LongAdder failures = new LongAdder();

    /** More of these, for which there was no room on the stack to do more. */
    static volatile int overflows;
    /** The class files of the last, each with those before, until {@link #findMissedReads} has looked into them. */
    private static volatile Object[] missed;

    /** By loaders' identity, as what they say of it may be the application's code. */
    private static final Known<Boolean> FINDS = new Known<>();

    private final Packages application;
    private final ClassLayouts layouts;
    private final HookedMethods hooked;
    private final Predicate<Class<?>> concerned;
    private final ClassLoader platform = ClassLoader.getPlatformClassLoader();

    /**
     * @param layouts null: reads of fields are seen otherwise
     * @param concerned which classes it is for; asked for null where one is being loaded
     */
    Rewriting(Packages application, ClassLayouts layouts, HookedMethods hooked, Predicate<Class<?>> concerned) {
        this.application = application;
        this.layouts = layouts;
        this.hooked = hooked;
        this.concerned = concerned;
    }

    /** Whether a class that is loaded would be another if it were loaded now; annotated methods are not looked for. */
    boolean wouldChange(Class<?> loaded) {
        return hooked.hasClass(loaded) || isReader(loaded.getClassLoader(), loaded.getName());
    }

    /** Whether the class, with points in its name, may read fields of the application whose reads are to be seen so. */
    private boolean isReader(ClassLoader loader, String name) {
        return layouts != null && isOfProgram(loader)
                && (application.contain(name) || application.mayBeReadBy(name));
    }

    private boolean isOfProgram(ClassLoader loader) {
        return loader != null && loader != platform;
    }

    /** Whether classes of a loader find those of the agent, which the boot loader has. */
    static boolean finds(ClassLoader loader) {
        if (loader == null) {
            return true;
        }
        Boolean known = FINDS.of(loader);
        if (known != null) {
            return known;
        }
        boolean finds = false;
        try {
            // Frameworks of OSGi may find for us what they do not find for their bundles.
            finds = !isOfBundle(loader) && Class.forName(Hooks.class.getName(), false, loader) == Hooks.class;
        } catch (ClassNotFoundException | RuntimeException | LinkageError cause) {
            // It does not.
        }
        FINDS.remember(loader, finds);
        return finds;
    }

    /** Whether it, or one that it asks, is that of a bundle of OSGi. */
    private static boolean isOfBundle(ClassLoader loader) {
        for (ClassLoader asked = loader; asked != null; asked = asked.getParent()) {
            for (Class<?> type = asked.getClass(); type != null; type = type.getSuperclass()) {
                if (contain(type.getInterfaces(), "org.osgi.framework.BundleReference")) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Whether an interface of this name is among these, or is extended by one of them. */
    private static boolean contain(Class<?>[] interfaces, String name) {
        for (Class<?> type : interfaces) {
            if (type.getName().equals(name) || contain(type.getInterfaces(), name)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] file) {
        try {
            if (!concerned.test(redefined)) {
                return null;
            }
            // Who defines it need not have said its name.
            String own = name == null ? new ClassReader(file).getClassName() : name;
            return rewritten(loader, own, redefined, file);
        } catch (Throwable cause) {
            try {
                if (layouts != null) {
                    missReads(file, layouts);
                }
                failures.increment();
            } catch (Throwable overflow) {
                synchronized (FINDS) { // Without a call, as that would overflow, too, and the class be missed silently.
                    missed = layouts == null ? null : new Object[] {file, missed};
                    overflows++;
                }
            }
            return null;
        }
    }

    /**
     * A hidden class, which the JVM shows to no transformer; the file as it is, where it is not to be changed.
     * @param host the name of the class beside which it will be, with points
     */
    byte[] ofHidden(ClassLoader loader, String host, byte[] file) {
        if (!isReader(loader, host)) {
            return file;
        }
        try {
            // Its own objects are none to watch: by its name no file is found.
            return rewritten(loader, new ClassReader(file), true, false);
        } catch (Throwable cause) {
            failures.increment();
            missReads(file, layouts);
            return file;
        }
    }

    /** Null: it stays as it is. */
    private byte[] rewritten(ClassLoader loader, String name, Class<?> redefined, byte[] file) {
        boolean isApplication = isOfProgram(loader) && application.contain(name.replace('/', '.'));
        boolean isReader = isReader(loader, name.replace('/', '.'));
        if (!isApplication && !isReader && !hooked.hasClass(name)) {
            return null;
        }
        ClassReader reader = new ClassReader(file);
        if (isApplication) {
            Annotations.remember(loader, name.replace('/', '.'), reader);
        }
        // Who is loaded can get no more fields.
        boolean mayGrow = redefined == null || Watchable.class.isAssignableFrom(redefined);
        return rewritten(loader, reader, isReader, mayGrow);
    }

    /** Null: there is nothing to change. */
    private byte[] rewritten(ClassLoader loader, ClassReader reader, boolean isReader, boolean mayGrow) {
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        ClassVisitor rewriting = hooked.visitor(reader, writer);
        if (isReader) {
            rewriting = FieldReads.visitor(loader, reader, layouts, mayGrow, rewriting);
        }
        if (rewriting == writer) {
            return null;
        }
        if (!finds(loader)) {
            throw new IllegalStateException("it would not find the agent");
        }
        reader.accept(rewriting, ClassReader.EXPAND_FRAMES);
        return writer.toByteArray();
    }

    /** To be called before an object is watched. */
    static void findMissedReads(ClassLayouts layouts) {
        Object[] all = missed;
        for (Object[] next = all; next != null; next = (Object[]) next[1]) {
            missReads((byte[]) next[0], layouts);
        }
        if (all != null) {
            synchronized (FINDS) {
                missed = missed == all ? null : missed;
            }
        }
    }

    /** The class goes on as it was, so none whose fields it reads can be watched. */
    private static void missReads(byte[] file, ClassLayouts layouts) {
        try {
            new ClassReader(file).accept(new ClassVisitor(Opcodes.ASM9) {
                @Override
                public MethodVisitor visitMethod(int access, String method, String type, String sign, String[] thrown) {
                    return new MethodVisitor(Opcodes.ASM9) {
                        @Override
                        public void visitFieldInsn(int opcode, String owner, String field, String fieldType) {
                            if (opcode == Opcodes.GETFIELD) {
                                layouts.missReadsOf(owner);
                            }
                        }
                    };
                }
            }, ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
        } catch (RuntimeException cause) {
            // What ASM cannot read at all: a class file newer than it knows. Nothing is watched with it either.
        }
    }
}
