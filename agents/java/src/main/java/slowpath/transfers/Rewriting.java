/*
 * Rewrites classes as the JVM loads them: those of the application, where that is how reads of their fields are seen
 * (FieldReads), and methods of libraries through which remote objects come (HookedMethods). A class that cannot
 * be rewritten is left as it is; then its reads are missed, and what it reads is not watched.
 */
package slowpath.transfers;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

final class Rewriting implements ClassFileTransformer {
    /** Classes that could not be rewritten. */
    static final LongAdder failures = new LongAdder();

    private final Packages application;
    private final ClassLayouts layouts;
    private final HookedMethods hooked;
    private final ClassLoader platform = ClassLoader.getPlatformClassLoader();

    /** @param layouts null: reads of fields are seen otherwise */
    Rewriting(Packages application, ClassLayouts layouts, HookedMethods hooked) {
        this.application = application;
        this.layouts = layouts;
        this.hooked = hooked;
    }

    /** Only for methods of classes that were loaded before the agent, which is asked to rewrite them once more. */
    static ClassFileTransformer ofLoaded(HookedMethods hooked, Set<Class<?>> loaded) {
        return new ClassFileTransformer() {
            @Override
            public byte[] transform(
                    ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] file) {
                if (redefined == null || !loaded.contains(redefined)) {
                    return null;
                }
                ClassReader reader = new ClassReader(file);
                ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
                reader.accept(hooked.visitor(reader, writer), ClassReader.EXPAND_FRAMES);
                return writer.toByteArray();
            }
        };
    }

    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] file) {
        if (name == null) {
            return null;
        }
        boolean isApplication = loader != null && loader != platform
                && application.contain(name.replace('/', '.'));
        if (!isApplication && !hooked.hasClass(name)) {
            return null;
        }
        try {
            ClassReader reader = new ClassReader(file);
            ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
            ClassVisitor rewriting = hooked.visitor(reader, writer);
            if (isApplication && layouts != null) {
                rewriting = FieldReads.visitor(loader, reader, layouts, rewriting);
            }
            if (rewriting == writer) {
                return null;
            }
            reader.accept(rewriting, ClassReader.EXPAND_FRAMES);
            return writer.toByteArray();
        } catch (RuntimeException | Error cause) {
            failures.increment();
            if (isApplication && layouts != null) {
                missReads(loader, file);
            }
            return null;
        }
    }

    /** The class goes on as it was, so none whose fields it reads can be watched. */
    private void missReads(ClassLoader loader, byte[] file) {
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
