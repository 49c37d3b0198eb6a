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
     * @param weight how many objects of its class its response has
     * @param ofRequest where to remember it until the request ends that the thread serves; null: there is none
     */
    void watch(Object object, int weight, DataClass type, Row row, List<Lifetimes.Sample> ofRequest);

    /**
     * toString (`isText`), hashCode or equals of any object begins; another one is what it is compared with, or null.
     * @return whether what this thread reads from now on is to be told apart, as one of them is watched, or the text may
     *     have what another object has that is
     */
    boolean print(Object object, Object other, boolean isText);

    /** Any object is about to be copied by its method clone. */
    void copy(Object object);

    /** Adds why objects were not watched, and how many, to the report. */
    void tellNotWatched(Json json);
}
