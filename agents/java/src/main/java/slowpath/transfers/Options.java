/*
 * What the user can say: on the command line (-javaagent:slowpath-transfers.jar=key=value,key=value) and in the
 * file that `config` names (key=value lines; a comma separates values). `rate`, `arms-per-second`,
 * `paths-per-second`, `call-paths` and `counting` may be changed in the file while the application runs. The last two
 * are for the benchmark.
 */
package slowpath.transfers;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

final class Options {
    /** In the order of the README. */
    private static final List<String> KEYS = List.of("report", "report-every", "rate", "arms-per-second",
            "paths-per-second", "samples", "packages", "exclude", "remote", "backend", "aiming-share", "config");
    /** Those that may be given more than once, as each time adds to them. */
    private static final Set<String> LISTS = Set.of("packages", "exclude", "remote");
    private static final Set<String> OF_BENCHMARK = Set.of("call-paths", "counting");
    /** Those that are taken over while the application runs. */
    private static final Set<String> CHANGING =
            Set.of("rate", "arms-per-second", "paths-per-second", "call-paths", "counting");

    /** The share of responses that may be watched, 0 to 1. */
    volatile double rate;
    /** How many responses may be looked into each second, whatever the rate. */
    volatile int armsPerSecond;
    /** Of how many responses the call path is looked for each second, about; of those that may be looked into at least. */
    volatile int pathsPerSecond;
    /** Whether the native library may walk stacks. */
    volatile boolean nativeCallPaths;
    /** Off: what arrives is passed over, as if the agent were not there. */
    volatile boolean isCounting;
    /** How reads are seen: mask, watchpoints, auto. */
    final String backend;
    /** What part of the program's processor time watchpoints may spend on aiming registers. */
    final double aimingShare;
    /** How many decided samples of a class in a context suffice. */
    final int samples;
    final Path report;
    final long reportEveryMillis;
    final Packages application;
    /** Methods whose result is a remote object: "package.Class#method". */
    final Set<String> remoteMethods;

    private final Map<String, String> given;
    private final Path file;
    private FileTime fileRead;
    /** What was asked for when it was last read. */
    private Map<String, String> asked;
    /** Whether it was said that it could not be read, or makes no sense, since it last did. */
    private boolean isRefused;

    private Options(Map<String, String> given, Path file) {
        this.given = given;
        this.file = file;
        Map<String, String> all = withFile();
        asked = all;
        adjust(all);
        backend = choice(all, "backend", "auto", "mask", "watchpoints");
        aimingShare = number(all, "aiming-share", 0.05, 0.001, 1);
        samples = whole(all, "samples", 385, 1, 1_000_000);
        String reported = all.getOrDefault("report", "slowpath-transfers-" + ProcessHandle.current().pid() + ".jsonl");
        if (reported.isEmpty()) {
            throw new IllegalArgumentException("'report' is empty (hint: report=FILE)");
        }
        report = Path.of(reported).toAbsolutePath();
        reportEveryMillis = (long) (1000 * number(all, "report-every", 10, 0.1, 86400));
        application = new Packages(prefixes(all, "packages"), prefixes(all, "exclude"));
        remoteMethods = new HashSet<>(list(all, "remote"));
        for (String method : remoteMethods) {
            int hash = method.indexOf('#');
            if (hash <= 0 || hash != method.lastIndexOf('#') || hash == method.length() - 1) {
                throw new IllegalArgumentException("'remote' has " + method + " (hint: package.Class#method)");
            }
        }
    }

    static Options parse(String arguments) {
        Map<String, String> given = new TreeMap<>();
        String last = null;
        for (String part : (arguments == null ? "" : arguments).split(",")) {
            int equals = part.indexOf('=');
            if (equals > 0) {
                last = part.substring(0, equals).trim();
                give(given, last, part.substring(equals + 1).trim());
            } else if (last != null && !part.isBlank()) {
                given.merge(last, part.trim(), (before, more) -> before + "," + more);
            } else if (!part.isBlank()) {
                throw new IllegalArgumentException("no value for '" + part + "' (hint: key=value,key=value)");
            }
        }
        String file = given.get("config");
        return new Options(given, file == null ? null : Path.of(file));
    }

    private static void give(Map<String, String> given, String key, String value) {
        String before = given.get(key);
        if (before != null && !LISTS.contains(key)) {
            throw new IllegalArgumentException("'" + key + "' is given twice (hint: one of them)");
        }
        given.put(key, before == null ? value : before + "," + value);
    }

    /** Takes over what may change while the application runs if the file has changed since it was last read. */
    void reload() {
        if (file == null) {
            return;
        }
        try {
            if (!Files.getLastModifiedTime(file).equals(fileRead)) {
                Map<String, String> all = withFile();
                adjust(all);
                sayWhatIsLate(all);
                asked = all;
            }
            isRefused = false;
        } catch (IOException | IllegalArgumentException cause) {
            if (!isRefused) {
                isRefused = true;
                System.err.println("slowpath: " + file + " is not taken over: "
                        + (cause instanceof IOException ? cause.toString() : cause.getMessage()));
            }
        }
    }

    private void sayWhatIsLate(Map<String, String> all) {
        Set<String> late = new TreeSet<>(KEYS);
        late.removeAll(CHANGING);
        late.removeIf(key -> Objects.equals(all.get(key), asked.get(key)));
        if (!late.isEmpty()) {
            System.err.println("slowpath: what " + file + " says of " + String.join(", ", late)
                    + " is not taken over while the program runs (hint: start it again)");
        }
    }

    private void adjust(Map<String, String> all) {
        double newRate = number(all, "rate", 1, 0, 1);
        boolean newCallPaths = choice(all, "call-paths", "native", "java").equals("native");
        boolean newCounting = choice(all, "counting", "on", "off").equals("on");
        int newArms = whole(all, "arms-per-second", 20, 0, 1_000_000);
        int newPaths = whole(all, "paths-per-second", 200, 1, 1_000_000_000);
        // Only now, as a file is taken over whole or not at all.
        armsPerSecond = newArms;
        pathsPerSecond = newPaths;
        isCounting = newCounting;
        rate = newRate;
        nativeCallPaths = newCallPaths;
    }

    /** The command line goes before the file. */
    private Map<String, String> withFile() {
        Map<String, String> all = new TreeMap<>();
        if (file != null) {
            // By itself it would keep the last of several.
            Properties properties = new Properties() {
                @Override
                public synchronized Object put(Object key, Object value) {
                    give(all, key.toString(), value.toString().trim());
                    return null;
                }
            };
            try (Reader reader = Files.newBufferedReader(file)) {
                fileRead = Files.getLastModifiedTime(file);
                properties.load(reader);
            } catch (IOException cause) {
                throw new IllegalArgumentException("cannot read " + file + ": " + cause, cause);
            }
        }
        all.putAll(given);
        for (String key : all.keySet()) {
            if (!KEYS.contains(key) && !OF_BENCHMARK.contains(key)) {
                throw new IllegalArgumentException(
                        "there is no option '" + key + "' (hint: " + String.join(", ", KEYS) + ")");
            }
        }
        return all;
    }

    private static int whole(Map<String, String> all, String key, int otherwise, int least, int most) {
        double number = number(all, key, otherwise, least, most);
        if (number != (int) number) {
            throw new IllegalArgumentException(
                    "'" + key + "' is " + all.get(key) + " (hint: a whole number from " + least + " to " + most + ")");
        }
        return (int) number;
    }

    private static double number(Map<String, String> all, String key, double otherwise, double least, double most) {
        String value = all.get(key);
        if (value == null) {
            return otherwise;
        }
        try {
            double number = Double.parseDouble(value);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException cause) {
            // said below
        }
        throw new IllegalArgumentException("'" + key + "' is " + value + " (hint: a number from " + plain(least) + " to "
                + plain(most) + ")");
    }

    /** A whole number as such. */
    private static String plain(double number) {
        return number == (long) number ? String.valueOf((long) number) : String.valueOf(number);
    }

    /** @param choices the first is the one where nothing is said */
    private static String choice(Map<String, String> all, String key, String... choices) {
        String value = all.getOrDefault(key, choices[0]);
        if (!List.of(choices).contains(value)) {
            throw new IllegalArgumentException("'" + key + "' is " + value + " (hint: " + String.join(" or ", choices)
                    + ")");
        }
        return value;
    }

    private static List<String> list(Map<String, String> all, String key) {
        List<String> values = new ArrayList<>();
        for (String value : all.getOrDefault(key, "").split(",")) {
            if (!value.isBlank()) {
                values.add(value.trim());
            }
        }
        return values;
    }

    /** What names of classes begin with; a `*` at the end is one's habit. */
    private static List<String> prefixes(Map<String, String> all, String key) {
        List<String> prefixes = list(all, key);
        prefixes.replaceAll(name -> name.endsWith("*") ? name.substring(0, name.length() - 1) : name);
        return prefixes;
    }
}
