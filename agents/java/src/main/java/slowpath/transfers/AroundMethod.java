/*
 * Adds code to the begin of a method, before each return, and to where an exception leaves it: what begins, ends.
 * For class files that have frames (since Java 6).
 * What is added is not part of what an exception leaves: a method ends once, even where what says so fails. (Twice,
 * where the return itself throws, as monitors do not balance, which no compiler makes: {@link #restore} may be twice.)
 */
package slowpath.transfers;

import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.commons.AdviceAdapter;

abstract class AroundMethod extends AdviceAdapter {
    private static final Type THREAD = Type.getType(ThreadState.class);

    /** Where the method's own code begins, ends before a return, begins again with that, and so on. */
    private final List<Label> parts = new ArrayList<>();
    private boolean isHandler;
    /** The counter that has its value again when the method ends, and the locals that have whose it is and the value. */
    private String counter;
    private int thread;
    private int before;

    AroundMethod(int access, String method, String type, MethodVisitor next) {
        super(Opcodes.ASM9, next, access, method, type);
    }

    /** Code for the begin. */
    abstract void begin();

    /** Code for a return; the result lies on the stack and must stay there. */
    abstract void returning();

    /** Code for an exception, which lies on the stack and must stay there. */
    abstract void throwing();

    /**
     * First of all at the begin: remembers a counter of the thread's state, for {@link #restore}. That is done by the
     * method itself, as a call might find no room on the stack at the end, and the counter stay raised for good.
     */
    final void keep(String kept) {
        counter = kept;
        call(HookedMethods.HOOKS, "thread", "()" + THREAD.getDescriptor());
        thread = newLocal(THREAD);
        storeLocal(thread);
        loadLocal(thread);
        getField(THREAD, counter, Type.INT_TYPE);
        before = newLocal(Type.INT_TYPE);
        storeLocal(before);
    }

    /** Last of all at the begin. */
    final void raise() {
        loadLocal(thread);
        loadLocal(before);
        push(1);
        math(ADD, Type.INT_TYPE);
        putField(THREAD, counter, Type.INT_TYPE);
    }

    /** First of all at the end. */
    final void restore() {
        loadLocal(thread);
        loadLocal(before);
        putField(THREAD, counter, Type.INT_TYPE);
    }

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
