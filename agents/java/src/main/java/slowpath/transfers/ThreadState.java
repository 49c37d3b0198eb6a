/*
 * What a thread is in the middle of: a call of a remote service, reading its answer, serving a request, making
 * text of an object. Set by hooks at the beginning and end of methods, however these end.
 */
package slowpath.transfers;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

final class ThreadState {
    private static final ThreadLocal<ThreadState> OF_THREAD = ThreadLocal.withInitial(ThreadState::new);

    /** How many hooked methods that return remote objects are under way; the outermost one's result counts. */
    int receiving;
    /** Where the outermost of them gets its answer from; null: not known. */
    Endpoint endpoint;
    /** Whether code of the program sees what arrives before the outermost of them returns it. */
    boolean isShown;
    /** How many entities Hibernate has validated now, one within the other. */
    int validating;

    private int printing;
    private int uncounted;
    private int marked;
    /** Where the watchpoints remember these. */
    private int printingPlace;
    private int markedPlace;
    private int loading;
    private Map<Endpoint, List<Object>> loaded;
    private int requests;
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
        if (printing++ == 0) {
            printingPlace = Watchpoints.beginReads(Watchpoints.PRINTS);
        }
    }

    void printed() {
        if (--printing == 0) {
            Watchpoints.endReads(printingPlace);
        }
    }

    /** Reads on this thread are no use: the agent's own, and those of libraries for their own sake. */
    void beginUncounted() {
        uncounted++;
        mark();
    }

    void endUncounted() {
        unmark();
        uncounted--;
    }

    /**
     * The agent begins its work on this thread. A virtual one may wait for others in it and go on on another of the
     * system's: there it says so for the watchpoints only of the reads themselves ({@link DataClass#values}).
     */
    void beginWork() {
        uncounted++;
        if (!isVirtual()) {
            mark();
        }
    }

    void endWork() {
        if (!isVirtual()) {
            unmark();
        }
        uncounted--;
    }

    private void mark() {
        if (marked++ == 0) {
            markedPlace = Watchpoints.beginReads(Watchpoints.OWN);
        }
    }

    private void unmark() {
        if (--marked == 0) {
            Watchpoints.endReads(markedPlace);
        }
    }

    boolean isUncounted() {
        return uncounted > 0;
    }

    void beginLoading() {
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

    /** What was loaded since loading began; null: nothing, or it does not end yet. */
    Map<Endpoint, List<Object>> endLoading() {
        if (--loading > 0) {
            return null;
        }
        Map<Endpoint, List<Object>> entities = loaded;
        loaded = null;
        return entities;
    }

    void beginRequest(Object begun) {
        if (requests++ == 0) {
            request = begun;
            ofRequest = new ArrayList<>();
        }
    }

    /** What was watched since the request began that ends here; null: it does not end yet. */
    List<Lifetimes.Sample> endRequest() {
        if (--requests > 0) {
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
