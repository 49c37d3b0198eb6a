/*
 * The native libraries that are packed in the agent's jar: unpacked into a folder that only its owner can enter, loaded,
 * and gone again. Of one that cannot be loaded a line says why and what is lost; the agent does without it.
 */
package slowpath.transfers;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

final class NativeLibraries {
    private static final String PLATFORM = System.getProperty("os.name") + "-" + System.getProperty("os.arch");
    private static final String FOLDER = "slowpath/transfers/native/" + PLATFORM + "/";
    private static final String ALL_LOST =
            "counting responses costs more, and transfers will not be seen in recordings";
    private static final String OF_JVM = "libslowpath_transfers_jvm.so";

    private NativeLibraries() {}

    /** @return whether the library is loaded that asks the JVM for call paths */
    static boolean load() {
        if (ClassLoader.getSystemResource(FOLDER + OF_JVM) == null) {
            say(ALL_LOST, "the agent was not built for " + PLATFORM, "make -C agents/java on such a machine");
            return false;
        }
        try {
            Path folder = Files.createTempDirectory("slowpath-transfers");
            try {
                check(folder);
                if (load(folder, "libslowpath_transfers.so", "transfers will not be seen in recordings",
                        "install liblttng-ust")) {
                    NativeEvents.ready();
                }
                return load(folder, OF_JVM, "counting responses costs more",
                        "-Djava.io.tmpdir=FOLDER where libraries may be loaded from");
            } finally {
                Files.deleteIfExists(folder);
            }
        } catch (IOException | RuntimeException cause) {
            say(ALL_LOST, cause, "-Djava.io.tmpdir=FOLDER");
            return false;
        }
    }

    /** What lies in the folder is run: nobody else may put something there. */
    private static void check(Path folder) throws IOException {
        String permissions = PosixFilePermissions.toString(
                Files.getPosixFilePermissions(folder, LinkOption.NOFOLLOW_LINKS));
        if (!permissions.equals("rwx------")) {
            throw new IOException(folder + " is open to others: " + permissions);
        }
    }

    private static boolean load(Path folder, String name, String lost, String hint) {
        Path library = folder.resolve(name);
        try {
            try {
                unpack(library);
                System.load(library.toString());
            } finally {
                Files.deleteIfExists(library);
            }
            return true;
        } catch (IOException | LinkageError | RuntimeException cause) {
            say(lost, cause, hint);
            return false;
        }
    }

    private static void unpack(Path library) throws IOException {
        String resource = FOLDER + library.getFileName();
        try (InputStream packed = ClassLoader.getSystemResourceAsStream(resource)) {
            if (packed == null) {
                throw new IOException("the agent has no " + resource);
            }
            Files.copy(packed, library);
        }
    }

    private static void say(String lost, Object cause, String hint) {
        System.err.println("slowpath: " + lost + ": " + cause + " (hint: " + hint + ")");
    }
}
