/*
 * What was seen of reads of one object.
 */
package slowpath.transfers;

interface Seen {
    /** Whether reads of this field were to be seen. */
    boolean isWatched(int field);

    boolean isUsed(int field);

    /** By toString, hashCode or equals. */
    boolean isPrinted(int field);

    /** A copy of the object was made, whose end nobody sees. */
    boolean isCopied();
}
