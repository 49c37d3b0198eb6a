/*
 * Puts the agent together, once, before the application's main: options, rewriting of classes, the thread that
 * decides what became of watched objects, the report. Not an interface for applications.
 */
package slowpath.transfers;

import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.util.Set;

public final class Agent {
    private Agent() {}

    /**
     * @param arguments what stands behind the jar's name on the command line; see {@link Options}
     * @throws IllegalArgumentException with a sentence for the user, if the arguments make no sense
     */
    public static void start(String arguments, Instrumentation instrumentation)
            throws UnmodifiableClassException {
        Options options = Options.parse(arguments);
        CallPaths callPaths = new CallPaths(options, NativeLibraries.load());
        ClassLayouts layouts = new ClassLayouts(options.application);
        FieldMask backend = new FieldMask(layouts);
        Transfers transfers = new Transfers(options, backend, callPaths);
        Hooks.transfers = transfers;
        HookedMethods hooked = new HookedMethods(options.remoteMethods);
        // As other agents that change classes later may not undo the first: the added fields must stay.
        instrumentation.addTransformer(new Rewriting(options.application, layouts, hooked), false);
        Set<Class<?>> loaded = Set.of(Class.class, Field.class, MethodHandles.Lookup.class);
        instrumentation.addTransformer(Rewriting.ofLoaded(hooked, loaded), true);
        instrumentation.retransformClasses(loaded.toArray(new Class<?>[0]));
        backend.start();
        new Report(options, transfers, backend, callPaths).start();
    }
}
