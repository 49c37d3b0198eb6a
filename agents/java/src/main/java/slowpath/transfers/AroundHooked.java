/*
 * The usual change of a hooked method: at its begin and before its returns methods of Hooks are called with what
 * is at hand there; so it is where an exception leaves the method. Each of the three may be missing.
 */
package slowpath.transfers;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.commons.GeneratorAdapter;

final class AroundHooked extends AroundMethod {
    /** What code of a hooked method can push on the stack. */
    interface Value {
        void push(AroundHooked code);
    }

    /** A call of the method of Hooks that has this name. */
    static final class Call {
        private final String type;
        private final String method;
        private final List<Value> arguments;

        private Call(String method, Value... arguments) {
            this.method = method;
            this.arguments = Arrays.asList(arguments);
            type = Arrays.stream(Hooks.class.getMethods()).filter(found -> found.getName().equals(method))
                    .map(Type::getMethodDescriptor).findFirst().orElseThrow();
        }

        /** Whether its first argument is what the hooked method returns. */
        private boolean wantsResult() {
            return Type.getArgumentTypes(type).length > arguments.size();
        }
    }

    /** Calls of hooks at these places; null: none. */
    static final class Calls {
        private final List<Call> begin = new ArrayList<>();
        private Call returning;
        private Call throwing;
        private String counter;
        private boolean isRaised;

        /** After those that were given before. */
        Calls begin(String hook, Value... arguments) {
            begin.add(new Call(hook, arguments));
            return this;
        }

        /** @param arguments all, or those after the first, which is then what the method returns */
        Calls returning(String hook, Value... arguments) {
            returning = new Call(hook, arguments);
            return this;
        }

        /** A counter of the thread's state that the hook of the begin raises has its value again when the method ends. */
        Calls restoring(String name) {
            counter = name;
            return this;
        }

        /** A counter of the thread's state tells while the method runs that it does, for the hook of its end no longer. */
        Calls counting(String name) {
            isRaised = true;
            return restoring(name);
        }

        /** However the method ends. */
        Calls end(String hook, Value... arguments) {
            returning = throwing = new Call(hook, arguments);
            return this;
        }
    }

    private final String owner;
    private final Calls calls;

    AroundHooked(int access, String owner, String method, String type, Calls calls, MethodVisitor next) {
        super(access, method, type, next);
        this.owner = owner;
        this.calls = calls;
    }

    /** The first argument of the method that is of this class; null where there is none. */
    static Value argument(String className) {
        return code -> {
            Type[] types = code.getArgumentTypes();
            for (int argument = 0; argument < types.length; argument++) {
                if (types[argument].getClassName().equals(className)) {
                    code.loadArg(argument);
                    return;
                }
            }
            code.visitInsn(Opcodes.ACONST_NULL);
        };
    }

    /** An argument by number, which must be an object. */
    static Value argument(int number) {
        return code -> code.loadArg(number);
    }

    static Value self() {
        return GeneratorAdapter::loadThis;
    }

    /** A field of the object whose method it is. */
    static Value field(String name, String type) {
        return code -> {
            code.loadThis();
            code.getField(Type.getObjectType(code.owner), name, Type.getType(type));
        };
    }

    static Value text(String text) {
        return code -> code.visitLdcInsn(text);
    }

    static Value nothing() {
        return code -> code.visitInsn(Opcodes.ACONST_NULL);
    }

    /** What a method without arguments of another object, of this class, returns. */
    static Value of(Value object, String className, String method, String returned) {
        return code -> {
            object.push(code);
            code.visitMethodInsn(Opcodes.INVOKEVIRTUAL, className, method, "()L" + returned + ";", false);
        };
    }

    /** What a public method without arguments of the object whose method it is returns. */
    static Value own(String method, String returned) {
        return code -> of(self(), code.owner, method, returned).push(code);
    }

    @Override
    void begin() {
        if (calls.counter != null) {
            keep(calls.counter);
        }
        calls.begin.forEach(this::emit);
        if (calls.isRaised) {
            raise();
        }
    }

    @Override
    void returning() {
        if (calls.counter != null) {
            restore();
        }
        if (calls.returning != null && calls.returning.wantsResult()) {
            dup();
        }
        emit(calls.returning);
    }

    @Override
    void throwing() {
        if (calls.counter != null) {
            restore();
        }
        emit(calls.throwing);
    }

    private void emit(Call hook) {
        if (hook != null) {
            hook.arguments.forEach(argument -> argument.push(this));
            call(HookedMethods.HOOKS, hook.method, hook.type);
        }
    }
}
