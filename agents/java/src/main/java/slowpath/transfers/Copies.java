/*
 * The change of calls of clone: of what is copied it cannot be said any more that nothing reads it. The calls, as a class
 * may call that of its parent by a method of another name.
 */
package slowpath.transfers;

import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

class Copies extends MethodVisitor {
    Copies(MethodVisitor next) {
        super(Opcodes.ASM9, next);
    }

    @Override
    public void visitMethodInsn(int opcode, String owner, String called, String type, boolean isInterface) {
        if (called.equals("clone") && type.startsWith("()") && opcode != Opcodes.INVOKESTATIC
                && owner.charAt(0) != '[') {
            super.visitInsn(Opcodes.DUP);
            super.visitMethodInsn(
                    Opcodes.INVOKESTATIC, HookedMethods.HOOKS, "copy", "(Ljava/lang/Object;)V", false);
        }
        super.visitMethodInsn(opcode, owner, called, type, isInterface);
    }
}
