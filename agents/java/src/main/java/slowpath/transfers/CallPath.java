/*
 * The methods of the application that are on the stack where a remote object arrives: the allocation context of
 * the paper. Equal where the same instructions called each other. Not a whole stack trace: frames of frameworks
 * and of generated proxies are left out. Keeps names only, as classes may be unloaded.
 */
package slowpath.transfers;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Spliterator;
import java.util.function.Consumer;
import java.util.stream.Stream;

final class CallPath {
    private static final int MOST_FRAMES = 32;
    /** Deeper than this nobody looks; servers' stacks have about a hundred frames. */
    private static final int MOST_LOOKED_AT = 512;
    static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    /** Class and method of each frame, the innermost first; and at which instruction. */
    private final String[] names;
    private final int[] instructions;
    private final int hash;
    /** Until its elements are asked for. */
    private List<StackWalker.StackFrame> frames;
    private List<StackTraceElement> elements;

    private CallPath(List<StackWalker.StackFrame> frames) {
        this.frames = frames;
        names = new String[2 * frames.size()];
        instructions = new int[frames.size()];
        for (int index = 0; index < instructions.length; index++) {
            StackWalker.StackFrame frame = frames.get(index);
            names[2 * index] = frame.getClassName();
            names[2 * index + 1] = frame.getMethodName();
            instructions[index] = frame.getByteCodeIndex();
        }
        hash = 31 * Arrays.hashCode(names) + Arrays.hashCode(instructions);
    }

    /**
     * That of the calling thread.
     * @param begins gets the class at which the request begins, if one is on the stack: nobody looks deeper
     */
    static CallPath here(Packages application, Consumer<Class<?>> begins) {
        return WALKER.walk(stack -> new CallPath(ofApplication(stack, application, begins)));
    }

    private static List<StackWalker.StackFrame> ofApplication(
            Stream<StackWalker.StackFrame> stack, Packages application, Consumer<Class<?>> begins) {
        List<StackWalker.StackFrame> frames = new ArrayList<>(8);
        Spliterator<StackWalker.StackFrame> all = stack.spliterator();
        boolean[] isBegin = {false};
        int looked = 0;
        while (!isBegin[0] && looked++ < MOST_LOOKED_AT && frames.size() < MOST_FRAMES
                && all.tryAdvance(frame -> {
                    String name = frame.getClassName();
                    if (application.contain(name)) {
                        if (!isProxy(name)) {
                            frames.add(frame);
                        }
                    } else if (isBeginOfRequest(name)) {
                        isBegin[0] = true;
                        begins.accept(frame.getDeclaringClass());
                    }
                })) {
            // on to the frame's caller
        }
        return frames;
    }

    /** Whether only servers, filters and what calls controllers lie below: most of a stack, which says nothing of who asked. */
    private static boolean isBeginOfRequest(String className) {
        return className.equals("jakarta.servlet.http.HttpServlet")
                || className.equals("javax.servlet.http.HttpServlet")
                || className.equals("org.springframework.web.method.support.InvocableHandlerMethod");
    }

    private static boolean isProxy(String className) {
        return className.contains("$$SpringCGLIB") || className.contains("$$EnhancerBy")
                || className.contains("$$FastClassBy") || className.contains("$Proxy")
                || className.contains("$HibernateProxy");
    }

    /** Class, method, file and line of each frame, the outermost first. */
    synchronized List<StackTraceElement> elements() {
        if (elements == null) {
            elements = new ArrayList<>();
            for (StackWalker.StackFrame frame : frames) {
                elements.add(0, frame.toStackTraceElement());
            }
            frames = null; // As they keep their classes.
        }
        return elements;
    }

    @Override
    public int hashCode() {
        return hash;
    }

    @Override
    public boolean equals(Object other) {
        return this == other || other instanceof CallPath && hash == ((CallPath) other).hash
                && Arrays.equals(instructions, ((CallPath) other).instructions)
                && Arrays.equals(names, ((CallPath) other).names);
    }
}
