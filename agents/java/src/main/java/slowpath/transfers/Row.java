/*
 * What became of the objects of one class in one context, field by field. Counts are added by the thread on
 * which a response arrives and by the one that decides; all under the row's own lock. As one object of a response is
 * watched, however many it has, each has a weight: so many objects of its class its response has.
 */
package slowpath.transfers;

import java.util.concurrent.ThreadLocalRandom;

final class Row {
    /**
     * So often as many objects may be watched as must be decided: where most escape, or few weigh much more than the
     * others, watching them ends.
     */
    private static final int MOST_ARMED = 8;

    /** An object that is chosen to be watched. */
    static final class Chosen {
        private final Seen seen;
        private final int weight;
        /** By field, as they travel; null: not measured yet. */
        private long[] bytes;

        /** @param weight how many objects of its class its response has, for all of which it stands */
        Chosen(Seen seen, int weight) {
            this.seen = seen;
            this.weight = weight;
        }
    }

    final DataClass.Shape shape;
    private final Encoding encoding;
    /** In responses that were looked into: those with such objects, and how many objects these were. */
    long responses;
    long objects;
    /**
     * Objects watched, decided (they died), censored (they outlived their request, were copied, or may have been read
     * unseen), lost.
     */
    long watched;
    long decided;
    long censored;
    long lost;
    /** Sum of the weights of objects watched. */
    long watchedWeight;
    /** Of decided objects, by field: used; read by toString, hashCode or equals alone; not read. */
    final long[] used;
    final long[] printed;
    final long[] unused;
    /** Of censored objects, by field: in which it was watched; used nevertheless. */
    final long[] censoredOf;
    final long[] censoredUsed;
    /** By how many objects of the class are in a response: {@link #length}. */
    final Length[] lengths = new Length[Integer.SIZE];
    /** Of watched objects, by field: sum of bytes as they travel, and how many had another value than null. */
    final long[] bytes;
    final long[] present;
    /** Of decided objects, by field: sums of the weights of those that are counted above, and of all their squares. */
    final long[] usedWeight;
    final long[] printedWeight;
    final long[] unusedWeight;
    final long[] squares;
    /** Sums of bytes times weight, by field: of watched objects; of decided ones; of those of them that did not use it. */
    final long[] weightedBytes;
    final long[] bytesDecided;
    final long[] bytesInVain;
    /** By field: in how many objects that were not lost it is or was watched. */
    private final long[] armed;
    /** Of these but for the censored ones, by field: sums of weights and of their squares. */
    private final long[] armedWeight;
    private final long[] armedSquares;

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
        usedWeight = new long[fields];
        printedWeight = new long[fields];
        unusedWeight = new long[fields];
        squares = new long[fields];
        weightedBytes = new long[fields];
        bytesDecided = new long[fields];
        bytesInVain = new long[fields];
        armed = new long[fields];
        armedWeight = new long[fields];
        armedSquares = new long[fields];
    }

    /**
     * As many samples that all weigh the same say as much as some of different weights (Kish, Survey Sampling, 1965,
     * 11.7): where those weigh the same, so many there are.
     * @param weight the sum of weights
     * @param squares the sum of their squares
     */
    static double effective(long weight, long squares) {
        return squares == 0 ? 0 : (double) weight * weight / squares;
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
        return travels(field) && effective(armedWeight[field], armedSquares[field]) < samples
                && armed[field] < (long) MOST_ARMED * samples;
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
        Length length = length(objectsOfResponse);
        length.responses++;
        length.objects += objectsOfResponse;
        length.squares += (long) objectsOfResponse * objectsOfResponse;
    }

    /** That of responses with so many objects, or up to twice as many as a power of two. */
    private Length length(int objectsOfResponse) {
        int power = Integer.SIZE - 1 - Integer.numberOfLeadingZeros(objectsOfResponse);
        if (lengths[power] == null) {
            lengths[power] = new Length(1 << power);
        }
        return lengths[power];
    }

    /** Responses of about the same number of objects. */
    static final class Length {
        /** They have as many objects at least, and fewer than twice as many. */
        final int least;
        /** Of those looked into: how many, their objects, and the sum of the squares of how many each has. */
        long responses;
        long objects;
        long squares;
        /** Their objects that are decided, and the sum of their weights. */
        long decided;
        long decidedWeight;

        Length(int least) {
            this.least = least;
        }
    }

    /** An object is watched from now on. */
    synchronized void arm(Chosen object) {
        watched++;
        watchedWeight += object.weight;
        for (int field = 0; field < armed.length; field++) {
            if (object.seen.isWatched(field)) {
                armed[field]++;
                count(field, object.weight, 1);
            }
        }
    }

    /** @param sign 1: an object suffices for a field so far; -1: it does no longer */
    private void count(int field, int weight, int sign) {
        armedWeight[field] += sign * weight;
        armedSquares[field] += sign * (long) weight * weight;
    }

    /** Of an object that is watched, these are the values of its fields. */
    void measure(Chosen object, Object[] values) {
        long[] sizes = new long[values.length];
        for (int field = 0; field < values.length; field++) {
            String name = shape.name(field, encoding);
            sizes[field] = name == null ? 0 : encoding.of(name, values[field]);
        }
        synchronized (this) {
            object.bytes = sizes;
            for (int field = 0; field < values.length; field++) {
                bytes[field] += sizes[field];
                weightedBytes[field] += sizes[field] * object.weight;
                present[field] += values[field] == null ? 0 : 1;
            }
        }
    }

    /** Of an object it is not known any more what was read of it. */
    synchronized void lose(Chosen object) {
        lost++;
        for (int field = 0; field < armed.length; field++) {
            if (object.seen.isWatched(field)) {
                armed[field]--;
                count(field, object.weight, -1);
            }
        }
    }

    /** An object is watched no longer; all seen: it is dead, and was not read otherwise than is known. */
    synchronized void decide(Chosen object, boolean allSeen) {
        Seen seen = object.seen;
        boolean known = allSeen && !seen.isCopied();
        if (known) {
            decided++;
            Length length = length(object.weight);
            length.decided++;
            length.decidedWeight += object.weight;
        } else {
            censored++;
        }
        for (int field = 0; field < used.length; field++) {
            if (!seen.isWatched(field)) {
                continue;
            }
            if (known) {
                decide(object, field);
            } else {
                censoredOf[field]++;
                censoredUsed[field] += seen.isUsed(field) ? 1 : 0;
                count(field, object.weight, -1);
            }
        }
    }

    private void decide(Chosen object, int field) {
        int weight = object.weight;
        long size = object.bytes == null ? 0 : object.bytes[field] * weight;
        squares[field] += (long) weight * weight;
        bytesDecided[field] += size;
        if (object.seen.isUsed(field)) {
            used[field]++;
            usedWeight[field] += weight;
            return;
        }
        bytesInVain[field] += size;
        if (object.seen.isPrinted(field)) {
            printed[field]++;
            printedWeight[field] += weight;
        } else {
            unused[field]++;
            unusedWeight[field] += weight;
        }
    }

    /** Sum of the weights of objects of which it is known whether this field was used. */
    long decidedWeight(int field) {
        return usedWeight[field] + printedWeight[field] + unusedWeight[field];
    }
}
