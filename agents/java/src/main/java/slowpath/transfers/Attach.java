/*
 * The jar as a program: brings the agent into a Java program that runs.
 *   java -jar slowpath-transfers.jar PID [key=value,key=value]
 * Needs the JVM of a JDK, here, not there.
 */
package slowpath.transfers;

import com.sun.tools.attach.AgentInitializationException;
import com.sun.tools.attach.AgentLoadException;
import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Path;

public final class Attach {
    /** The property of the other JVM that tells what became of the agent. */
    static final String RESULT = "slowpath.transfers";
    /** What that begins with where all went well. */
    static final String WATCHED = "the report is ";

    private Attach() {}

    public static void main(String[] arguments) throws URISyntaxException {
        if (arguments.length < 1 || arguments.length > 2 || !arguments[0].matches("\\d+")) {
            System.err.println("usage: java -jar slowpath-transfers.jar PID [key=value,key=value]");
            System.exit(2);
        }
        File jar = new File(Attach.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        String result = attach(arguments[0], Path.of(jar.getPath()).toAbsolutePath(),
                arguments.length > 1 ? arguments[1] : "");
        System.err.println("slowpath: process " + arguments[0] + ": " + result);
        System.exit(result.startsWith(WATCHED) ? 0 : 3);
    }

    private static String attach(String process, Path jar, String options) {
        try {
            VirtualMachine machine = VirtualMachine.attach(process);
            try {
                machine.loadAgent(jar.toString(), options);
                return machine.getSystemProperties().getProperty(RESULT);
            } finally {
                machine.detach();
            }
        } catch (IOException | AttachNotSupportedException cause) {
            return "cannot attach: " + cause.getMessage() + " (hint: the same user, and a JVM that allows it)";
        } catch (AgentLoadException | AgentInitializationException cause) {
            return "it does not take the agent: " + cause.getMessage();
        } catch (LinkageError cause) {
            return "cannot attach: " + cause + " (hint: run this with the java of a JDK)";
        }
    }
}
