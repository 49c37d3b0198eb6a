/*
 * Reads options of a file, and again when the file has changed: two changes, given as files. Prints after each what may
 * change while a program runs.
 *   java slowpath.transfers.Reloaded FILE CHANGED CHANGED
 */
package slowpath.transfers;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;

public final class Reloaded {
    private Reloaded() {}

    public static void main(String[] arguments) throws IOException {
        Path file = Path.of(arguments[0]);
        Options options = Options.parse("config=" + file);
        print(options);
        for (int change = 1; change < arguments.length; change++) {
            Files.copy(Path.of(arguments[change]), file, StandardCopyOption.REPLACE_EXISTING);
            Files.setLastModifiedTime(file, FileTime.fromMillis(change));
            options.reload();
            print(options);
        }
    }

    private static void print(Options options) {
        System.out.println(options.rate + " " + options.armsPerSecond + " " + options.pathsPerSecond);
    }
}
