/*
 * The agent's result: a file of JSON lines, replaced whole every few seconds and when the application ends. What
 * each line and key means is defined in docs/formats/transfers.md. Also takes over changed options, as it is awake.
 */
package slowpath.transfers;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

final class Report {
    private static final int VERSION = 1;

    private final Path file;
    private final Options options;
    private final Transfers transfers;
    private final Backend backend;
    private final Lifetimes lifetimes;
    private final CallPaths callPaths;
    private final Set<String> remoteNotFound;
    private final long begin = nanosOfEpoch();
    private boolean saidThatItFails;

    /**
     * @param file what {@link #check} has returned
     * @param remoteNotFound methods that were named and do not exist so far
     */
    Report(Path file, Options options, Transfers transfers, Backend backend, Lifetimes lifetimes, CallPaths callPaths,
            Set<String> remoteNotFound) {
        this.file = file;
        this.options = options;
        this.transfers = transfers;
        this.backend = backend;
        this.lifetimes = lifetimes;
        this.callPaths = callPaths;
        this.remoteNotFound = remoteNotFound;
    }

    void start() {
        Thread regularly = new Thread(this::writeRegularly, "slowpath-transfers-report");
        regularly.setDaemon(true);
        regularly.start();
        Runtime.getRuntime().addShutdownHook(new Thread(this::end, "slowpath-transfers-end"));
    }

    private void writeRegularly() {
        while (true) {
            try {
                Thread.sleep(options.reportEveryMillis);
                options.reload();
                write();
            } catch (InterruptedException cause) {
                return;
            } catch (Throwable cause) {
                // Out of memory, maybe even in telling so: there may be some when the next one is due.
            }
        }
    }

    private void end() {
        write();
        if (!remoteNotFound.isEmpty()) {
            System.err.println("slowpath: 'remote' has " + String.join(", ", new TreeSet<>(remoteNotFound))
                    + ", and no class that was loaded and could be rewritten has such a method with code that returns "
                    + "an object (hint: package.Class$Nested#method; classes_not_rewritten in the report)");
        }
    }

    /**
     * @return where it is written, which is elsewhere if it is a link
     * @throws IllegalArgumentException with a sentence for the user, if no report can be written there
     */
    static Path check(Path report) {
        try {
            Path file = Files.isSymbolicLink(report) ? followed(report) : report;
            if (Files.isDirectory(file)) {
                throw new IOException("it is a directory");
            }
            if (Files.exists(file) && !Files.isRegularFile(file)) {
                throw new IOException("it is no regular file, which could be replaced");
            }
            Files.delete(unfinished(file, ""));
            return file;
        } catch (IOException | RuntimeException cause) {
            throw new IllegalArgumentException(
                    "no report of transfers can be written to " + report + ": " + cause + " (hint: report=FILE)", cause);
        }
    }

    /** Where a link leads to, if who has laid it owns that, too: others may have us replace nothing of ours. */
    private static Path followed(Path link) throws IOException {
        // What this process has open, as /dev/stdout: to replace it would not write there.
        if (link.getParent().toRealPath().startsWith("/proc") || Files.readSymbolicLink(link).startsWith("/proc")) {
            throw new IOException("it is no regular file, which could be replaced");
        }
        if (!Files.exists(link)) {
            throw new IOException("it is a link to nothing");
        }
        Path file = link.toRealPath();
        if (!Files.getOwner(link, LinkOption.NOFOLLOW_LINKS).equals(Files.getOwner(file))) {
            throw new IOException("it is a link of somebody else's");
        }
        return file;
    }

    /** A new file beside the report, whoever may have left one there; only its owner reads in it what endpoints tell. */
    private static Path unfinished(Path report, String text) throws IOException {
        Path file = report.resolveSibling(report.getFileName() + ".part");
        Files.deleteIfExists(file);
        Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        return Files.write(file, text.getBytes(StandardCharsets.UTF_8), StandardOpenOption.WRITE,
                LinkOption.NOFOLLOW_LINKS);
    }

    private synchronized void write() {
        try {
            Files.move(unfinished(file, text()), file, StandardCopyOption.REPLACE_EXISTING,
                    StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException | RuntimeException | Error cause) {
            if (!saidThatItFails) {
                System.err.println("slowpath: no report of transfers: " + cause + " (hint: report=FILE)");
                saidThatItFails = true; // Only now, as that takes memory.
            }
        }
    }

    private String text() {
        StringBuilder lines = new StringBuilder();
        lines.append(head()).append('\n');
        for (Context context : transfers.contexts()) {
            lines.append(line(context)).append('\n');
        }
        return lines.toString();
    }

    private Json head() {
        Json json = new Json().begin('{')
                .with("format", "slowpath-transfers").with("version", VERSION)
                .with("pid", ProcessHandle.current().pid())
                .with("java", System.getProperty("java.runtime.version"))
                .with("program", program())
                .with("backend", backend.name()).with("call_paths", callPaths.walker())
                .with("begin_ns", begin).with("end_ns", nanosOfEpoch())
                .with("rate", options.rate).with("arms_per_second", options.armsPerSecond)
                .with("paths_per_second", options.pathsPerSecond)
                .with("samples", options.samples)
                .with("watched_now", lifetimes.watchedNow())
                .key("not_watched").begin('{')
                .with("over_cap", transfers.overCap.sum());
        backend.tellNotWatched(json);
        return json.end('}')
                .with("responses_without_context", transfers.withoutContext.sum())
                .with("failures", transfers.failures.sum() + lifetimes.failures.get() + Hooks.overflows)
                .with("classes_not_rewritten", Rewriting.failures.sum() + Rewriting.overflows)
                .end('}');
    }

    /** The main class, or the jar as far as there is no space in its path: what stands behind may be secret. */
    private static String program() {
        String command = System.getProperty("sun.java.command");
        return command == null ? null : command.split(" ", 2)[0];
    }

    private static Json line(Context context) {
        Json json = new Json().begin('{').with("context", context.number).key("call_path").begin('[');
        for (StackTraceElement frame : context.callPath) {
            json.begin('{').with("class", frame.getClassName()).with("method", frame.getMethodName())
                    .with("file", frame.getFileName()).with("line", frame.getLineNumber()).end('}');
        }
        json.end(']')
                .key("endpoint").begin('{').with("method", context.endpoint.method).with("url", context.endpoint.url)
                .end('}')
                .with("by", context.by).with("encoding", context.endpoint.encoding.name().toLowerCase(Locale.ROOT))
                .with("responses", context.responses.sum())
                .with("standard_error", Math.sqrt(context.variance.sum()))
                .with("looked_into", context.looked.sum())
                .with("too_large", context.tooLarge.sum())
                .key("classes").begin('[');
        for (Row row : context.rows.values()) {
            synchronized (row) {
                add(json, row);
            }
        }
        return json.end(']').end('}');
    }

    /** Utilisation is, of a class, equation 2 of MicroProf; of a field, equation 3. */
    private static void add(Json json, Row row) {
        int fields = row.used.length;
        long usedInAll = 0;
        long decidedInAll = 0;
        for (int field = 0; field < fields; field++) {
            usedInAll += row.travels(field) ? row.usedWeight[field] : 0;
            decidedInAll += row.travels(field) ? row.decidedWeight(field) : 0;
        }
        json.begin('{').with("class", row.shape.className).with("embedded", row.shape.isEmbedded)
                .with("responses", row.responses).with("objects", row.objects)
                .with("watched", row.watched).with("decided", row.decided).with("censored", row.censored)
                .with("lost", row.lost).with("watched_weight", row.watchedWeight);
        if (decidedInAll > 0) {
            json.with("utilisation", (double) usedInAll / decidedInAll);
        }
        json.key("lengths").begin('[');
        for (Row.Length length : row.lengths) {
            if (length != null) {
                json.begin('{').with("least", length.least).with("responses", length.responses)
                        .with("objects", length.objects).with("squares", length.squares)
                        .with("decided", length.decided).with("decided_weight", length.decidedWeight).end('}');
            }
        }
        json.end(']').key("fields").begin('[');
        for (int field = 0; field < fields; field++) {
            if (!row.travels(field)) {
                continue;
            }
            json.begin('{').with("name", row.shape.shown.get(field)).with("type", row.shape.types.get(field))
                    .with("used", row.used[field]).with("printed", row.printed[field])
                    .with("unused", row.unused[field])
                    .with("censored", row.censoredOf[field]).with("censored_used", row.censoredUsed[field])
                    .with("present", row.present[field]).with("bytes", row.bytes[field])
                    .with("refers", row.shape.refers(field))
                    .key("weighted").begin('{')
                    .with("used", row.usedWeight[field]).with("printed", row.printedWeight[field])
                    .with("unused", row.unusedWeight[field]).with("squares", row.squares[field])
                    .with("bytes", row.weightedBytes[field]).with("bytes_decided", row.bytesDecided[field])
                    .with("bytes_in_vain", row.bytesInVain[field]).end('}');
            long decided = row.decidedWeight(field);
            if (decided > 0) {
                double share = (double) row.usedWeight[field] / decided;
                Wilson interval = new Wilson(share, Row.effective(decided, row.squares[field]));
                json.with("utilisation", share)
                        .key("interval").begin('[').value(interval.low).value(interval.high).end(']');
            }
            json.end('}');
        }
        json.end(']').end('}');
    }

    private static long nanosOfEpoch() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000 + now.getNano();
    }
}
