/*
 * What a thread is in the middle of: a call of a remote service, reading its answer, serving a request, making
 * text of an object. The counters are raised when hooked methods begin, and each of these restores its own when it ends,
 * however it does, by itself (AroundMethod#restore): so they are right again where a stack overflows in a hook. Public
 * for that. Only of toString and the like, which are called often, it is done in a hook, and what that leaves is mended
 * when another one ends that this one was called by, or a request or a call of a remote service begins.
 */
package slowpath.transfers;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

public final class ThreadState {
    private static final ThreadLocal<ThreadState> OF_THREAD = ThreadLocal.withInitial(ThreadState::new);

    /** How many hooked methods that return remote objects are under way; the outermost one's result counts. */
    public int receiving;
    /** Where the outermost of them gets its answer from; null: not known. */
    Endpoint endpoint;
    /** Whether code of the program sees what arrives before the outermost of them returns it. */
    boolean isShown;
    /** How many of these are under way: validations by Hibernate, and what the methods below begin. */
    public int validating;
    public int printing;
    public int uncounted;
    public int loading;
    public int requests;

    private int marked;
    /** Where the watchpoints remember what is printed and marked; -1: nowhere. */
    private int printingPlace = -1;
    private int markedPlace = -1;
    private Map<Endpoint, List<Object>> loaded;
    private Object request;
    private List<Lifetimes.Sample> ofRequest;

    static ThreadState current() {
        return OF_THREAD.get();
    }

    /** Whether the calling thread goes on on another one of the system's when it has waited. */
    static boolean isVirtual() {
        return Thread.currentThread().getClass().getName().equals("java.lang.VirtualThread");
    }

    boolean isPrinting() {
        return printing > 0;
    }

    void print() {
        if (printing == 0) {
            endLeft();
            printingPlace = Watchpoints.beginReads(Watchpoints.PRINTS);
        }
        printing++;
    }

    /** When the counter is restored. */
    void printed() {
        if (printing == 0) {
            endPrinting();
        }
    }

    /** Where nothing is printed any more that was begun before. */
    private void forgetPrinting() {
        printing = 0;
        endLeft();
    }

    /** The same unless the caller is in a toString or the like; only while the counter is up, the stack is looked at. */
    void forgetPrintingThatEnded() {
        if (printing == 0 || !CallPath.WALKER.walk(frames -> frames.anyMatch(
                frame -> Printing.is(frame.getMethodName(), frame.getDescriptor())))) {
            forgetPrinting();
        }
    }

    private void endPrinting() {
        Watchpoints.endReads(printingPlace);
        printingPlace = -1;
    }

    /** Reads on this thread are no use: the agent's own, and those of libraries for their own sake. */
    void beginUncounted() {
        mark();
        uncounted++;
    }

    /** When the counter is restored. */
    void endUncounted() {
        unmark();
    }

    /**
     * The agent begins its work on this thread. A virtual one may wait for others in it and go on on another of the
     * system's: there it says so for the watchpoints only of the reads themselves ({@link DataClass#values}).
     */
    void beginWork() {
        endLeft();
        if (!isVirtual()) {
            mark();
        }
        uncounted++; // At last: what fails before has not begun.
    }

    /** When the counter is restored. */
    void endWork() {
        if (!isVirtual()) {
            unmark();
        }
    }

    private void mark() {
        if (marked == 0) {
            markedPlace = Watchpoints.beginReads(Watchpoints.OWN);
        }
        marked++;
    }

    private void unmark() {
        if (marked > 0 && --marked == 0) {
            endMarked();
        }
    }

    private void endMarked() {
        Watchpoints.endReads(markedPlace);
        markedPlace = -1;
    }

    /** Where a stack overflowed when the watchpoints should be told of an end: before anything else is watched. */
    private void endLeft() {
        if (printing == 0 && printingPlace >= 0) {
            endPrinting();
        }
        if (uncounted == 0 && marked > 0) {
            marked = 0;
            endMarked();
        }
    }

    boolean isUncounted() {
        return uncounted > 0;
    }

    void beginLoading() {
        if (loading == 0) {
            loaded = null;
        }
        loading++;
    }

    /** An entity is loaded, to be told of when loading ends. @return false: nobody knows when */
    boolean loaded(Object entity, Endpoint endpoint) {
        if (loading == 0) {
            return false;
        }
        loaded = loaded == null ? new LinkedHashMap<>() : loaded;
        loaded.computeIfAbsent(endpoint, none -> new ArrayList<>()).add(entity);
        return true;
    }

    /** What was loaded since loading began, when the counter is restored; null: nothing, or it does not end yet. */
    Map<Endpoint, List<Object>> endLoading() {
        if (loading > 0) {
            return null;
        }
        Map<Endpoint, List<Object>> entities = loaded;
        loaded = null;
        return entities;
    }

    void beginRequest(Object begun) {
        if (requests == 0) {
            ofRequest = new ArrayList<>();
            request = begun;
            forgetPrinting();
        }
        requests++;
    }

    /** What was watched since the request began that ends here, when the counter is restored; null: it does not end yet. */
    List<Lifetimes.Sample> endRequest() {
        if (requests > 0) {
            return null;
        }
        List<Lifetimes.Sample> samples = ofRequest;
        ofRequest = null;
        request = null;
        return samples;
    }

    /** The outermost that this thread serves, or null. */
    Object request() {
        return request;
    }

    /** The samples of the request that this thread serves; null: it serves none that is known. */
    List<Lifetimes.Sample> ofRequest() {
        return ofRequest;
    }
}
