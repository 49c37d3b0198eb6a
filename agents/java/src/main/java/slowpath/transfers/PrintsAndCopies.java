/*
 * Rewrites loaded classes so that it is known when their objects are printed, compared or copied: reads for that are no
 * use, and look like any others to a register of the processor; and when messages are asked which fields are set, which
 * looks like no read of these.
 */
package slowpath.transfers;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.security.ProtectionDomain;
import java.util.Collections;
import java.util.Set;
import java.util.WeakHashMap;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

final class PrintsAndCopies implements ClassFileTransformer {
    private final ParameterNames names;
    private final ClassLayouts layouts;
    private final Set<Class<?>> classes = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    PrintsAndCopies(Instrumentation instrumentation, ParameterNames names, ClassLayouts layouts) {
        this.layouts = layouts;
        this.names = names;
        instrumentation.addTransformer(this, true);
    }

    /** From now on it is known of objects of this class. @return false: it cannot be */
    boolean follow(Class<?> type) {
        for (Class<?> ancestor = type; ancestor.getClassLoader() != null; ancestor = ancestor.getSuperclass()) {
            try {
                if (classes.add(ancestor)) {
                    names.retransform(ancestor);
                }
            } catch (UnmodifiableClassException | RuntimeException | Error cause) {
                classes.remove(ancestor);
            }
            if (!classes.contains(ancestor)) {
                Rewriting.failures.increment();
                return false;
            }
        }
        return true;
    }

    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] file) {
        if (redefined == null || !classes.contains(redefined)) {
            return null;
        }
        try {
            if (!Rewriting.finds(loader)) {
                throw new IllegalStateException("it would not find the agent");
            }
            ClassReader reader = new ClassReader(file);
            ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
            reader.accept(new Changed(layouts.of(loader, name), writer), ClassReader.EXPAND_FRAMES);
            return writer.toByteArray();
        } catch (RuntimeException | Error cause) {
            classes.remove(redefined); // The JVM says nothing of it.
            return null;
        }
    }

    private static final class Changed extends ClassVisitor {
        /** Null: it has no fields of data. */
        private final ClassLayout layout;
        private String owner;
        private boolean hasFrames;

        Changed(ClassLayout layout, ClassVisitor next) {
            super(Opcodes.ASM9, next);
            this.layout = layout;
        }

        @Override
        public void visit(
                int version, int access, String name, String signature, String parent, String[] interfaces) {
            owner = name;
            hasFrames = (version & 0xffff) >= Opcodes.V1_6;
            super.visit(version, access, name, signature, parent, interfaces);
        }

        @Override
        public MethodVisitor visitMethod(int access, String method, String type, String signature, String[] thrown) {
            MethodVisitor writer = super.visitMethod(access, method, type, signature, thrown);
            MethodVisitor copies = new Copies(writer) {
                @Override
                public void visitFieldInsn(int opcode, String owner, String field, String fieldType) {
                    if (opcode == Opcodes.GETFIELD && layout != null && owner.equals(layout.name)
                            && layout.numberOf(field, fieldType) < 0) {
                        int number = layout.numberReadBy(method, field, fieldType);
                        if (number >= 0) {
                            visitInsn(Opcodes.DUP);
                            visitLdcInsn(number);
                            visitMethodInsn(Opcodes.INVOKESTATIC, HookedMethods.HOOKS, "presence",
                                    "(Ljava/lang/Object;I)V", false);
                        }
                    }
                    super.visitFieldInsn(opcode, owner, field, fieldType);
                }
            };
            boolean isChanged = hasFrames && (access & (Opcodes.ACC_STATIC | Opcodes.ACC_ABSTRACT)) == 0;
            if (isChanged && Enhanced.readsForItself(method)) {
                return Enhanced.visitor(access, owner, method, type, copies);
            }
            return isChanged && Printing.is(method, type)
                    ? new Printing(access, method, type, 0, copies) : copies;
        }
    }
}
