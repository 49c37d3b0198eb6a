/*
 * Adds code to the begin of a method, before each return, and to where an exception leaves it: what begins, ends.
 * For class files that have frames (since Java 6).
 */
package slowpath.transfers;

import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.commons.AdviceAdapter;

abstract class AroundMethod extends AdviceAdapter {
    private final Label first = new Label();
    private final Label end = new Label();
    private boolean isOpen;

    AroundMethod(int access, String method, String type, MethodVisitor next) {
        super(Opcodes.ASM9, next, access, method, type);
    }

    /** Code for the begin. */
    abstract void begin();

    /** Code for a return; the result lies on the stack and must stay there. */
    abstract void returning();

    /** Code for an exception, which lies on the stack and must stay there. */
    abstract void throwing();

    final void call(String owner, String method, String type) {
        visitMethodInsn(INVOKESTATIC, owner, method, type, false);
    }

    @Override
    protected final void onMethodEnter() {
        begin();
        isOpen = true;
        visitLabel(first);
    }

    @Override
    protected final void onMethodExit(int opcode) {
        // What is thrown here comes to the handler below.
        if (isOpen && opcode != ATHROW) {
            returning();
        }
    }

    @Override
    public final void visitMaxs(int stack, int locals) {
        isOpen = false;
        visitLabel(end);
        visitTryCatchBlock(first, end, end, null);
        visitFrame(F_NEW, 0, new Object[0], 1, new Object[] {"java/lang/Throwable"});
        throwing();
        visitInsn(ATHROW);
        super.visitMaxs(stack, locals);
    }
}
