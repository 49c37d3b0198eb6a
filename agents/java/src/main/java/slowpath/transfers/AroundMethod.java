/*
 * Adds code to the begin of a method, before each return, and to where an exception leaves it: what begins, ends.
 * For class files that have frames (since Java 6).
 * What is added is not part of what an exception leaves: a method ends once, even where what says so fails.
 */
package slowpath.transfers;

import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.commons.AdviceAdapter;

abstract class AroundMethod extends AdviceAdapter {
    /** Where the method's own code begins, ends before a return, begins again with that, and so on. */
    private final List<Label> parts = new ArrayList<>();
    private boolean isHandler;

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
        addPart();
        visitInsn(NOP); // As it may return at once, and no part may be empty.
    }

    private void addPart() {
        parts.add(new Label());
        visitLabel(parts.get(parts.size() - 1));
    }

    @Override
    protected final void onMethodExit(int opcode) {
        // What is thrown here comes to the handler below.
        if (!isHandler && opcode != ATHROW) {
            addPart();
            returning();
            addPart();
        }
    }

    @Override
    public final void visitMaxs(int stack, int locals) {
        isHandler = true;
        addPart();
        Label handler = parts.get(parts.size() - 1);
        for (int part = 0; part < parts.size(); part += 2) {
            visitTryCatchBlock(parts.get(part), parts.get(part + 1), handler, null);
        }
        visitFrame(F_NEW, 0, new Object[0], 1, new Object[] {"java/lang/Throwable"});
        throwing();
        visitInsn(ATHROW);
        super.visitMaxs(stack, locals);
    }
}
