/*
 * A library that objects arrive through, with the server that it asks.
 */
package families;

interface Family extends AutoCloseable {
    /** Asks in every way that the agent sees, each once; the test looks for the lines marked "line:". */
    void ask(int number) throws Exception;

    @Override
    default void close() throws Exception {}
}
