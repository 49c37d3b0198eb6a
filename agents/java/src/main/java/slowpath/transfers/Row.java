/*
 * What became of the objects of one class in one context, field by field. Counts are added by the thread on
 * which a response arrives and by the one that decides; all under the row's own lock.
 */
package slowpath.transfers;

final class Row {
    /** So often as many objects may be watched as must be decided: where most escape, watching them ends. */
    private static final int MOST_ARMED = 8;

    final DataClass.Shape shape;
    private final Encoding encoding;
    /** In responses that were looked into: those with such objects, and how many objects these were. */
    long responses;
    long objects;
    /** Objects watched, decided (they died), censored (they outlived their request, or were copied). */
    long armed;
    long decided;
    long censored;
    /** Of decided objects, by field: used; read by toString, hashCode or equals alone; not read. */
    final long[] used;
    final long[] printed;
    final long[] unused;
    /** Of censored objects, by field: used nevertheless. */
    final long[] censoredUsed;
    /** Of watched objects, by field: sum of bytes as they travel, and how many had another value than null. */
    final long[] bytes;
    final long[] present;

    Row(DataClass.Shape shape, Encoding encoding) {
        this.shape = shape;
        this.encoding = encoding;
        int fields = shape.names.size();
        used = new long[fields];
        printed = new long[fields];
        unused = new long[fields];
        censoredUsed = new long[fields];
        bytes = new long[fields];
        present = new long[fields];
    }

    /** Whether more objects should be watched so that this many are decided. */
    synchronized boolean isShort(int samples) {
        return armed - censored < samples && armed < (long) MOST_ARMED * samples;
    }

    synchronized void found(int objectsOfResponse) {
        responses++;
        objects += objectsOfResponse;
    }

    /** An object is watched from now on, with these values of its fields. */
    synchronized void arm(Object[] values) {
        armed++;
        for (int field = 0; field < values.length; field++) {
            bytes[field] += encoding.of(shape.names.get(field), values[field]);
            present[field] += values[field] == null ? 0 : 1;
        }
    }

    /** An object is watched no longer; dead: it cannot be read any more. */
    synchronized void decide(Watched watched, boolean dead) {
        boolean known = dead && !watched.isCopied();
        if (known) {
            decided++;
        } else {
            censored++;
        }
        for (int field = 0; field < used.length; field++) {
            if (!known) {
                censoredUsed[field] += watched.isUsed(field) ? 1 : 0;
            } else if (watched.isUsed(field)) {
                used[field]++;
            } else if (watched.isPrinted(field)) {
                printed[field]++;
            } else {
                unused[field]++;
            }
        }
    }
}
