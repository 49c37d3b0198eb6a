/*
 * An agent of others that comes before ours: classes are loaded before ours can rewrite them, and are redefined when ours
 * is there. Then the program goes on as corners.Lengths does.
 *   java -javaagent:early.jar -javaagent:OURS early.Early RESPONSES MANY
 * Or other classes are loaded before, for another program:
 *   java -javaagent:early.jar=CLASS,... -javaagent:OURS PROGRAM
 */
package early;

import corners.Lengths;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.util.List;

public final class Early {
    static class Data {
        int field = 1;
    }

    private static Instrumentation instrumentation;

    private Early() {}

    public static void premain(String arguments, Instrumentation own) throws ClassNotFoundException {
        instrumentation = own;
        for (String name : arguments == null ? List.of(Data.class.getName(), Lengths.class.getName())
                : List.of(arguments.split(","))) {
            Class.forName(name);
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (Class<?> type : List.of(Data.class, Lengths.class)) {
            instrumentation.redefineClasses(new ClassDefinition(type, file(type)));
        }
        System.out.println("redefined " + new Data().field);
        Lengths.main(arguments);
    }

    private static byte[] file(Class<?> type) throws IOException {
        try (InputStream file = type.getResourceAsStream("/" + type.getName().replace('.', '/') + ".class")) {
            return file.readAllBytes();
        }
    }
}
