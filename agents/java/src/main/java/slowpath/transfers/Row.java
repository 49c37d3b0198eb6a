/*
 * What became of the objects of one class in one context, field by field. Counts are added by the thread on
 * which a response arrives and by the one that decides; all under the row's own lock.
 */
package slowpath.transfers;

import java.util.concurrent.ThreadLocalRandom;

final class Row {
    /** So often as many objects may be watched as must be decided: where most escape, watching them ends. */
    private static final int MOST_ARMED = 8;

    final DataClass.Shape shape;
    private final Encoding encoding;
    /** In responses that were looked into: those with such objects, and how many objects these were. */
    long responses;
    long objects;
    /** Objects watched, decided (they died), censored (they outlived their request, or were copied), lost. */
    long watched;
    long decided;
    long censored;
    long lost;
    /** Of decided objects, by field: used; read by toString, hashCode or equals alone; not read. */
    final long[] used;
    final long[] printed;
    final long[] unused;
    /** Of censored objects, by field: in which it was watched; used nevertheless. */
    final long[] censoredOf;
    final long[] censoredUsed;
    /** Of watched objects, by field: sum of bytes as they travel, and how many had another value than null. */
    final long[] bytes;
    final long[] present;
    /** By field: in how many objects that were not lost it is or was watched. */
    private final long[] armed;

    Row(DataClass.Shape shape, Encoding encoding) {
        this.shape = shape;
        this.encoding = encoding;
        int fields = shape.names.size();
        used = new long[fields];
        printed = new long[fields];
        unused = new long[fields];
        censoredOf = new long[fields];
        censoredUsed = new long[fields];
        bytes = new long[fields];
        present = new long[fields];
        armed = new long[fields];
    }

    /** Whether more objects should be watched so that this many are decided for each field. */
    synchronized boolean isShort(int samples) {
        for (int field = 0; field < armed.length; field++) {
            if (isShort(field, samples)) {
                return true;
            }
        }
        return false;
    }

    private boolean isShort(int field, int samples) {
        return travels(field) && armed[field] - censoredOf[field] < samples && armed[field] < (long) MOST_ARMED * samples;
    }

    /** Whether it can have been received; else nothing is told of it. */
    boolean travels(int field) {
        return shape.name(field, encoding) != null;
    }

    /** One of the fields that are short of samples, each as likely as the others; -1: none is. */
    synchronized int shortField(int samples) {
        int chosen = -1;
        int count = 0;
        for (int field = 0; field < armed.length; field++) {
            if (isShort(field, samples) && ThreadLocalRandom.current().nextInt(++count) == 0) {
                chosen = field;
            }
        }
        return chosen;
    }

    synchronized void found(int objectsOfResponse) {
        responses++;
        objects += objectsOfResponse;
    }

    /** An object is watched from now on. */
    synchronized void arm(Seen seen) {
        watched++;
        for (int field = 0; field < armed.length; field++) {
            armed[field] += seen.isWatched(field) ? 1 : 0;
        }
    }

    /** Of an object that is watched, these are the values of its fields. */
    void measure(Object[] values) {
        long[] sizes = new long[values.length];
        for (int field = 0; field < values.length; field++) {
            String name = shape.name(field, encoding);
            sizes[field] = name == null ? 0 : encoding.of(name, values[field]);
        }
        synchronized (this) {
            for (int field = 0; field < values.length; field++) {
                bytes[field] += sizes[field];
                present[field] += values[field] == null ? 0 : 1;
            }
        }
    }

    /** Of an object it is not known any more what was read of it. */
    synchronized void lose(Seen seen) {
        lost++;
        for (int field = 0; field < armed.length; field++) {
            armed[field] -= seen.isWatched(field) ? 1 : 0;
        }
    }

    /** An object is watched no longer; dead: it cannot be read any more. */
    synchronized void decide(Seen seen, boolean dead) {
        boolean known = dead && !seen.isCopied();
        if (known) {
            decided++;
        } else {
            censored++;
        }
        for (int field = 0; field < used.length; field++) {
            if (!seen.isWatched(field)) {
                continue;
            }
            if (!known) {
                censoredOf[field]++;
                censoredUsed[field] += seen.isUsed(field) ? 1 : 0;
            } else if (seen.isUsed(field)) {
                used[field]++;
            } else if (seen.isPrinted(field)) {
                printed[field]++;
            } else {
                unused[field]++;
            }
        }
    }

    /** Of how many objects it is known whether this field was used. */
    long decidedOf(int field) {
        return used[field] + printed[field] + unused[field];
    }
}
