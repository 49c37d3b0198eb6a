/*
 * Where the JVM starts the agent. Puts the agent's jar onto the path of the boot loader, as classes of any
 * loader must reach Hooks, and goes on there: every other class of the agent exists once, in the boot loader.
 * Whatever goes wrong is one line on stderr and an application that is not watched, never an exception.
 */
package slowpath.transfers;

import java.io.File;
import java.lang.instrument.Instrumentation;
import java.util.jar.JarFile;

public final class Premain {
    private Premain() {}

    public static void premain(String arguments, Instrumentation instrumentation) {
        try {
            File jar = new File(Premain.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            instrumentation.appendToBootstrapClassLoaderSearch(new JarFile(jar));
            Class.forName("slowpath.transfers.Agent", true, null)
                    .getMethod("start", String.class, Instrumentation.class)
                    .invoke(null, arguments, instrumentation);
        } catch (java.lang.reflect.InvocationTargetException cause) {
            say(cause.getCause());
        } catch (Exception | LinkageError cause) {
            say(cause);
        }
    }

    private static void say(Throwable cause) {
        String message = cause instanceof IllegalArgumentException ? cause.getMessage() : cause.toString();
        System.err.println("slowpath: transfers are not watched: " + message);
    }
}
