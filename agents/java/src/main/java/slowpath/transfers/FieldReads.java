/*
 * Rewrites a class of the application, or one that may read its objects. Before each read of a field of such objects
 * goes a call that marks it where the object is watched, and before each call of clone. The application's classes get
 * a field for what watches their objects, and their toString, hashCode and equals say when they begin and end. No branch
 * is added, so verification stays what it was.
 */
package slowpath.transfers;

import java.util.Arrays;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

final class FieldReads extends ClassVisitor {
    private static final String HOOKS = "slowpath/transfers/Hooks";
    private static final String WATCHED = "Lslowpath/transfers/Watched;";
    private static final String WATCHABLE = "slowpath/transfers/Watchable";

    private final ClassLoader loader;
    private final ClassLayouts layouts;
    /** Null: the class has and inherits no fields to watch, but it may read those of others. */
    private final ClassLayout layout;
    /** Whether objects of it, or of what extends it, may be watched. */
    private final boolean isApplication;
    private final boolean isHolder;
    private final String name;
    private boolean hasFrames;

    private FieldReads(ClassLoader loader, String name, ClassLayouts layouts, ClassLayout layout, ClassVisitor next) {
        super(Opcodes.ASM9, next);
        this.loader = loader;
        this.name = name;
        this.layouts = layouts;
        isApplication = layout != null;
        this.layout = isApplication && layout.holder() != null ? layout : null;
        isHolder = this.layout != null && layout.holder() == layout;
    }

    /** @param mayGrow whether it may get the field that its objects need to be watched */
    static ClassVisitor visitor(
            ClassLoader loader, ClassReader file, ClassLayouts layouts, boolean mayGrow, ClassVisitor next) {
        ClassLayout layout = mayGrow ? layouts.of(loader, file.getClassName(), file) : null;
        return new FieldReads(loader, file.getClassName(), layouts, layout, next);
    }

    @Override
    public void visit(int version, int access, String name, String signature, String parent, String[] interfaces) {
        hasFrames = (version & 0xffff) >= Opcodes.V1_6;
        String[] extended = interfaces;
        if (isHolder) {
            extended = Arrays.copyOf(interfaces, interfaces.length + 1);
            extended[interfaces.length] = WATCHABLE;
        }
        super.visit(version, access, name, signature, parent, extended);
    }

    @Override
    public MethodVisitor visitMethod(int access, String method, String type, String signature, String[] thrown) {
        MethodVisitor writer = super.visitMethod(access, method, type, signature, thrown);
        MethodVisitor reads = new Copies(writer) {
            @Override
            public void visitFieldInsn(int opcode, String owner, String field, String fieldType) {
                if (opcode == Opcodes.GETFIELD) {
                    mark(mv, owner, method, field, fieldType);
                }
                super.visitFieldInsn(opcode, owner, field, fieldType);
            }
        };
        if (!isApplication || (access & (Opcodes.ACC_STATIC | Opcodes.ACC_ABSTRACT)) != 0) {
            return reads;
        }
        if (hasFrames && layout != null && Enhanced.readsForItself(method)) {
            return Enhanced.visitor(access, name, method, type, reads);
        }
        return hasFrames && Printing.is(method, type)
                ? new Printing(access, method, type, layout == null ? 0 : layout.end(), reads) : reads;
    }

    private void mark(MethodVisitor code, String owner, String method, String field, String fieldType) {
        if (owner.charAt(0) == '[') {
            return;
        }
        ClassLayout ofOwner = owner.equals(name) ? layout : layouts.of(loader, owner);
        int number = ofOwner == null ? -1 : ofOwner.numberReadBy(method, field, fieldType);
        if (number < 0) {
            return;
        }
        // Not of the added field, not even in its own class: where the object is null, the JVM would tell of that one.
        code.visitInsn(Opcodes.DUP);
        push(code, number);
        code.visitMethodInsn(Opcodes.INVOKESTATIC, HOOKS, "read", "(Ljava/lang/Object;I)V", false);
    }

    private static void push(MethodVisitor code, int number) {
        if (number <= 5) {
            code.visitInsn(Opcodes.ICONST_0 + number);
        } else {
            code.visitIntInsn(number <= Byte.MAX_VALUE ? Opcodes.BIPUSH : Opcodes.SIPUSH, number);
        }
    }

    @Override
    public void visitEnd() {
        if (isHolder) {
            int hidden = Opcodes.ACC_PUBLIC | Opcodes.ACC_SYNTHETIC;
            super.visitField(hidden | Opcodes.ACC_TRANSIENT, Watchable.FIELD, WATCHED, null, null).visitEnd();
            MethodVisitor get = super.visitMethod(hidden, Watchable.GET, "()Ljava/lang/Object;", null, null);
            get.visitCode();
            get.visitVarInsn(Opcodes.ALOAD, 0);
            get.visitFieldInsn(Opcodes.GETFIELD, name, Watchable.FIELD, WATCHED);
            get.visitInsn(Opcodes.ARETURN);
            get.visitMaxs(1, 1);
            get.visitEnd();
            MethodVisitor set = super.visitMethod(hidden, Watchable.SET, "(" + WATCHED + ")V", null, null);
            set.visitCode();
            set.visitVarInsn(Opcodes.ALOAD, 0);
            set.visitVarInsn(Opcodes.ALOAD, 1);
            set.visitFieldInsn(Opcodes.PUTFIELD, name, Watchable.FIELD, WATCHED);
            set.visitInsn(Opcodes.RETURN);
            set.visitMaxs(2, 2);
            set.visitEnd();
        }
        super.visitEnd();
    }
}
