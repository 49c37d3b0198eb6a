/*
 * Loads libslowpath_spans and the native methods over it: from where the user says, or else from this
 * jar, by way of a private folder that is gone again afterwards. Whatever goes wrong is one line on
 * stderr and an application without our events, never an exception.
 */
package slowpath.spans;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

final class NativeLibrary {
    private static final String EVENTS = "libslowpath_spans.so";
    private static final String METHODS = "libslowpath_spans_java.so";

    private NativeLibrary() {}

    /** Whether the calls of {@link NativeSpans} can be made from now on. */
    static boolean load() {
        try {
            String named = System.getProperty("slowpath.spans.native", System.getenv("SLOWPATH_SPANS_LIBRARY"));
            load(named == null || named.isEmpty() ? null : Path.of(named).toAbsolutePath());
            NativeSpans.startsRecorded(); // links the native methods, or fails here
            return true;
        } catch (IOException | LinkageError | RuntimeException cause) {
            System.err.println("slowpath: no span events from this program: " + cause.getMessage()
                    + " (hint: install liblttng-ust, or name " + EVENTS + " by SLOWPATH_SPANS_LIBRARY)");
            return false;
        }
    }

    /**
     * The native methods need the library of events by its name; one that is loaded already satisfies
     * them, so the user's, if named, is loaded first. The folder is the user's alone (createTempDirectory
     * makes it so), and both files stay mapped when they are removed.
     */
    private static void load(Path eventsOfUser) throws IOException {
        Path folder = Files.createTempDirectory("slowpath-spans");
        Path events = folder.resolve(EVENTS);
        Path methods = folder.resolve(METHODS);
        try {
            if (eventsOfUser == null) {
                unpack(events);
            }
            unpack(methods);
            System.load((eventsOfUser == null ? events : eventsOfUser).toString());
            System.load(methods.toString());
        } finally {
            Files.deleteIfExists(events);
            Files.deleteIfExists(methods);
            Files.deleteIfExists(folder);
        }
    }

    private static void unpack(Path file) throws IOException {
        String resource = "/native/" + System.getProperty("os.name") + "-" + System.getProperty("os.arch") + "/"
                + file.getFileName();
        try (InputStream packed = NativeLibrary.class.getResourceAsStream(resource)) {
            if (packed == null) {
                throw new IOException("this jar has no " + resource.substring(1));
            }
            Files.copy(packed, file);
        }
    }
}
