/*
 * Which fields of one watched object have been read. A byte for each field, not a bit, as threads that set bits
 * of one word at a time would undo each other. It refers to nothing of the application.
 */
package slowpath.transfers;

public final class Watched implements Seen {
    private final byte[] used;
    private final byte[] printed;
    private boolean copied;
    private boolean ofSample;

    Watched(int fields) {
        used = new byte[fields];
        printed = new byte[fields];
    }

    /** @return false: it was one already */
    boolean becomeSample() {
        boolean before = ofSample;
        ofSample = true;
        return !before;
    }

    /** The field is read: on behalf of toString, hashCode or equals, or for what else the program does. */
    void read(int field) {
        // Another, of a reader that was rewritten for another class of the name: it must not fail for that.
        if (field < used.length && used[field] == 0) {
            ThreadState thread = ThreadState.current();
            if (!thread.isUncounted()) {
                (thread.isPrinting() ? printed : used)[field] = 1;
            }
        }
    }

    /** Fields from one number up to another are read by toString, hashCode or equals. */
    void print(int begin, int end) {
        for (int field = begin; field < end; field++) {
            printed[field] = 1;
        }
    }

    /** A copy of the object is made, whose reads count here too, but whose end nobody sees. */
    void copy() {
        copied = true;
    }

    @Override
    public boolean isWatched(int field) {
        return true;
    }

    @Override
    public boolean isUsed(int field) {
        return used[field] != 0;
    }

    @Override
    public boolean isPrinted(int field) {
        return printed[field] != 0;
    }

    @Override
    public boolean isCopied() {
        return copied;
    }
}
