/*
 * How reads of objects are seen. What is watched, and for how long, is decided elsewhere (Transfers, Lifetimes).
 */
package slowpath.transfers;

import java.util.List;

interface Backend {
    /** As reports name it. */
    String name();

    /** Null: the class is none whose objects can be watched. */
    DataClass dataClass(Class<?> type);

    /**
     * Watches an object, if it can be.
     * @param ofRequest where to remember it until the request ends that the thread serves; null: there is none
     */
    void watch(Object object, DataClass type, Row row, List<Lifetimes.Sample> ofRequest);

    /** Any object, or null. */
    boolean isWatched(Object object);

    /** Any object is about to be copied by its method clone. */
    void copy(Object object);

    /** Adds why objects were not watched, and how many, to the report. */
    void tellNotWatched(Json json);
}
