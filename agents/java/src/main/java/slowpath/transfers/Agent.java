/*
 * Puts the agent together, once: options, how reads are seen, rewriting of classes, the thread that decides what
 * became of watched objects, the report. Not an interface for applications.
 */
package slowpath.transfers;

import java.io.ObjectOutputStream;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

public final class Agent {
    private Agent() {}

    /**
     * @param arguments what stands behind the jar's name on the command line; see {@link Options}
     * @param isRunning whether the application runs already, so that its classes can get no fields any more
     * @return a sentence for the user: where the report will be, or that an agent is there already
     * @throws IllegalArgumentException with a sentence for the user, if what they ask for makes no sense or cannot be
     */
    public static synchronized String start(String arguments, Instrumentation instrumentation, boolean isRunning)
            throws UnmodifiableClassException {
        if (Hooks.transfers != null) {
            return "transfers are watched already, by another agent: this one does nothing (hint: the file that the other's "
                    + "'config' names changes some of its options)";
        }
        Options options = Options.parse(arguments);
        if (isRunning && options.backend.equals("mask")) {
            throw new IllegalArgumentException("'backend' is mask, which changes classes when they are loaded, and the "
                    + "program runs already (hint: backend=watchpoints)");
        }
        Path report = Report.check(options.report);
        Modules.begin(instrumentation);
        boolean isNative = NativeLibraries.load();
        CallPaths callPaths = new CallPaths(options, isNative);
        ClassLayouts layouts = new ClassLayouts(options.application);
        Lifetimes lifetimes = new Lifetimes();
        ParameterNames names = new ParameterNames(instrumentation);
        Watchpoints watchpoints = null;
        if (isRunning || options.backend.equals("watchpoints")) {
            watchpoints = new Watchpoints(options, layouts, lifetimes);
            String refused = isNative ? watchpoints.start(instrumentation, names) : "the native library is missing";
            if (refused != null && isRunning) {
                throw new IllegalArgumentException("no watchpoints: " + refused);
            }
            if (refused != null) {
                System.err.println("slowpath: classes are changed to see reads, no watchpoints: " + refused);
                watchpoints = null;
            }
        }
        Hooks.fieldMask = watchpoints == null ? new FieldMask(layouts, lifetimes) : null;
        Hooks.watchpoints = watchpoints;
        Hooks.backend = watchpoints == null ? Hooks.fieldMask : watchpoints;
        Hooks.transfers = new Transfers(options, Hooks.backend, lifetimes, callPaths);
        HookedMethods hooked = new HookedMethods(options.remoteMethods);
        if (watchpoints == null) {
            hooked.addReads();
            List<Class<?>> needed = List.of(Class.class, Field.class, MethodHandles.Lookup.class,
                    ObjectOutputStream.class, AtomicIntegerFieldUpdater.class, AtomicLongFieldUpdater.class,
                    AtomicReferenceFieldUpdater.class);
            // Those that are loaded before the first transformer comes: each class is for one of the two.
            Set<Class<?>> loaded = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));
            Rewriting ofLoaded = new Rewriting(
                    options.application, layouts, hooked, type -> type != null && loaded.contains(type));
            HiddenClasses.rewriting = ofLoaded;
            loaded.addAll(needed);
            List<Class<?>> changed = changed(ofLoaded, instrumentation);
            loaded.addAll(changed);
            // As other agents that change classes later may not undo the first: the added fields must stay.
            instrumentation.addTransformer(new Rewriting(
                    options.application, layouts, hooked, type -> type == null || !loaded.contains(type)), false);
            // Before java.lang.Class calls it: it cannot be loaded by a call that loading it makes, as where another
            // agent asks each class that is loaded for its interfaces.
            Hidden.interfaces(new Class<?>[0], Agent.class);
            instrumentation.addTransformer(ofLoaded, true);
            instrumentation.retransformClasses(needed.toArray(new Class<?>[0]));
            changed.removeAll(needed);
            rewrite(changed, names);
        } else {
            Rewriting rewriting = new Rewriting(options.application, null, hooked, type -> true);
            instrumentation.addTransformer(rewriting, true);
            rewrite(changed(rewriting, instrumentation), names);
        }
        lifetimes.start(watchpoints == null ? () -> {} : watchpoints::prepare);
        new Report(report, options, Hooks.transfers, Hooks.backend, lifetimes, callPaths,
                hooked.remoteNotFound).start();
        return Attach.WATCHED + options.report;
    }

    /** Classes that were loaded before, as those that another agent needs are, and that have to be rewritten. */
    private static List<Class<?>> changed(Rewriting rewriting, Instrumentation instrumentation) {
        List<Class<?>> changed = new ArrayList<>();
        for (Class<?> loaded : instrumentation.getAllLoadedClasses()) {
            if (instrumentation.isModifiableClass(loaded) && rewriting.wouldChange(loaded)) {
                changed.add(loaded);
            }
        }
        return changed;
    }

    private static void rewrite(List<Class<?>> loaded, ParameterNames names) {
        for (Class<?> type : loaded) {
            try {
                names.retransform(type);
            } catch (UnmodifiableClassException | RuntimeException | Error cause) {
                Rewriting.failures.increment();
            }
        }
    }
}
