/*
 * What a thread is in the middle of: a call of a remote service, reading its answer, serving a request, making
 * text of an object. Set by hooks at the beginning and end of methods, however these end.
 */
package slowpath.transfers;

import java.util.ArrayList;
import java.util.List;

final class ThreadState {
    private static final ThreadLocal<ThreadState> OF_THREAD = ThreadLocal.withInitial(ThreadState::new);

    /** How many hooked methods that return remote objects are under way; the outermost one's result counts. */
    int receiving;
    /** Where the outermost of them gets its answer from; null: not known. */
    Endpoint endpoint;

    private int printing;
    private boolean ownWork;
    private int requests;
    private List<FieldMask.Sample> ofRequest;

    static ThreadState current() {
        return OF_THREAD.get();
    }

    boolean isPrinting() {
        return printing > 0;
    }

    void print() {
        printing++;
    }

    void printed() {
        printing--;
    }

    /** The agent itself works on this thread: what it reads is no use. */
    void beginOwnWork() {
        ownWork = true;
    }

    void endOwnWork() {
        ownWork = false;
    }

    boolean isOwnWork() {
        return ownWork;
    }

    void beginRequest() {
        if (requests++ == 0) {
            ofRequest = new ArrayList<>();
        }
    }

    /** What was watched since the request began that ends here; null: it does not end yet. */
    List<FieldMask.Sample> endRequest() {
        if (--requests > 0) {
            return null;
        }
        List<FieldMask.Sample> samples = ofRequest;
        ofRequest = null;
        return samples;
    }

    /** The samples of the request that this thread serves; null: it serves none that is known. */
    List<FieldMask.Sample> ofRequest() {
        return ofRequest;
    }
}
