/*
 * Opens packages of named modules to the agent, which else could not read fields of their objects.
 */
package slowpath.transfers;

import java.lang.instrument.Instrumentation;
import java.util.Map;
import java.util.Set;

final class Modules {
    private static final Module OWN = Modules.class.getModule();
    private static Instrumentation instrumentation;

    private Modules() {}

    /** Before the other method is called. */
    static void begin(Instrumentation own) {
        instrumentation = own;
    }

    /** Also what is open: before Java 17, all of Java is, and a JVM warns of who makes use of that. */
    static void open(Module module, String packageName) {
        if (module.isNamed()) {
            Map<String, Set<Module>> opened = Map.of(packageName, Set.of(OWN));
            instrumentation.redefineModule(module, Set.of(), Map.of(), opened, Set.of(), Map.of());
        }
    }
}
