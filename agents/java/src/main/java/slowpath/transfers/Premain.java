/*
 * Where the JVM starts the agent. Puts the agent's jar onto the path of the boot loader, as classes of any
 * loader must reach Hooks, and goes on there: every other class of the agent exists once, in the boot loader.
 * Whatever goes wrong is one line and an application that is not watched, never an exception.
 */
package slowpath.transfers;

import java.io.File;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.InvocationTargetException;
import java.util.Collections;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

public final class Premain {
    private static final String CLASS = ".class";

    private Premain() {}

    public static void premain(String arguments, Instrumentation instrumentation) {
        String result = start(arguments, instrumentation, false);
        if (!result.startsWith(Attach.WATCHED)) {
            System.err.println("slowpath: " + result);
        }
    }

    /** The program runs already; {@link Attach} has loaded the agent, and finds out what became of it. */
    public static void agentmain(String arguments, Instrumentation instrumentation) {
        System.setProperty(Attach.RESULT, start(arguments, instrumentation, true));
    }

    /** @return where the report will be, or why there will be none */
    private static String start(String arguments, Instrumentation instrumentation, boolean isRunning) {
        try {
            JarFile jar = new JarFile(
                    new File(Premain.class.getProtectionDomain().getCodeSource().getLocation().toURI()));
            instrumentation.appendToBootstrapClassLoaderSearch(jar);
            initialise(jar);
            return (String) Class.forName("slowpath.transfers.Agent", true, null)
                    .getMethod("start", String.class, Instrumentation.class, boolean.class)
                    .invoke(null, arguments, instrumentation, isRunning);
        } catch (InvocationTargetException cause) {
            return notWatched(cause.getCause());
        } catch (Exception | LinkageError cause) {
            return notWatched(cause);
        }
    }

    /** All classes, now: one that is begun near the end of a stack of the application's could never be used again. */
    private static void initialise(JarFile jar) throws ClassNotFoundException {
        for (JarEntry entry : Collections.list(jar.entries())) {
            if (entry.getName().endsWith(CLASS)) {
                String name = entry.getName().substring(0, entry.getName().length() - CLASS.length());
                try {
                    Class.forName(name.replace('/', '.'), true, null);
                } catch (LinkageError cause) {
                    // Of what it is made for, the runtime has nothing: it will not be used.
                }
            }
        }
    }

    private static String notWatched(Throwable cause) {
        return "transfers are not watched: "
                + (cause instanceof IllegalArgumentException ? cause.getMessage() : cause.toString());
    }
}
