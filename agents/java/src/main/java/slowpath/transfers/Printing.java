/*
 * The change of toString, hashCode and equals: they say when they begin and end, so that what they read of an object
 * that is watched is told apart. For class files that have frames (since Java 6).
 */
package slowpath.transfers;

import org.objectweb.asm.Handle;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Type;

final class Printing extends AroundMethod {
    private static final String EQUALS = "equals";
    private static final String TO_STRING = "toString";
    private static final String HOOKS = HookedMethods.HOOKS;

    private final boolean comparing;
    private final boolean isText;
    private final int fields;
    private int begun;

    /** @param fields how many numbers the fields of a record have, which it reads without bytecode */
    Printing(int access, String method, String type, int fields, MethodVisitor next) {
        super(access, method, type, next);
        comparing = method.equals(EQUALS);
        isText = method.equals(TO_STRING);
        this.fields = fields;
    }

    /** Whether it is such a method, if it is not static. */
    static boolean is(String method, String type) {
        return method.equals(EQUALS) && type.equals("(Ljava/lang/Object;)Z")
                || method.equals(TO_STRING) && type.equals("()Ljava/lang/String;")
                || method.equals("hashCode") && type.equals("()I");
    }

    @Override
    void begin() {
        loadObjects();
        push(isText);
        call(HOOKS, "print", "(Ljava/lang/Object;Ljava/lang/Object;Z)I");
        begun = newLocal(Type.INT_TYPE);
        storeLocal(begun);
    }

    private void loadObjects() {
        loadThis();
        if (comparing) {
            loadArg(0);
        } else {
            visitInsn(ACONST_NULL);
        }
    }

    @Override
    void returning() {
        end();
    }

    @Override
    void throwing() {
        end();
    }

    private void end() {
        loadLocal(begun);
        call(HOOKS, "printed", "(I)V");
    }

    @Override
    public void visitInvokeDynamicInsn(String called, String type, Handle bootstrap, Object... arguments) {
        if (bootstrap.getOwner().equals("java/lang/runtime/ObjectMethods")) {
            loadObjects();
            push(fields);
            call(HOOKS, "printRecord", "(Ljava/lang/Object;Ljava/lang/Object;I)V");
        }
        super.visitInvokeDynamicInsn(called, type, bootstrap, arguments);
    }
}
