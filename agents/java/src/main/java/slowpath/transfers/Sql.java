/*
 * What is shown of a query in SQL as its endpoint: what it does, and the tables it names. Not a parser: words
 * after FROM and JOIN, as far as they are names, and none that WITH gives. The application waits for it: each part of a
 * text is read a few times, however many parts there are, and of a very long text only the beginning.
 */
package slowpath.transfers;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

final class Sql {
    /**
     * So many characters of a text are read. Longer ones are so for the most part by their values (lists of ids, rows to
     * insert), and what is in front of these tells one from the other.
     */
    private static final int MOST_READ = 10_000;
    private static final Pattern VERB = Pattern.compile("[A-Za-z]+");
    private static final String NAME = "(?:[\\w$]++|\"[^\"]+\"|`[^`]+`|\\[[^\\[\\]]+\\])";
    /** What is in quotes and no table is told by no group, so that nothing begins inside of it. */
    private static final Pattern TABLES = Pattern.compile("\\b(?:FROM|JOIN)\\s+(?:(?:ONLY|LATERAL)\\b\\s*)?"
            + "(?!(?:ONLY|LATERAL|SELECT)\\b)(" + NAME + "(?:\\s*\\.\\s*" + NAME + ")*+)|\"[^\"]*\"|`[^`]*`",
            Pattern.CASE_INSENSITIVE);
    private static final String TEXT = "'[^']*'";
    /** The same for MySQL, where a backslash keeps a quote from ending a text; none begins behind one. */
    private static final String TEXT_WITH_BACKSLASHES = "(?<!\\\\)'[^'\\\\]*(?:\\\\.[^'\\\\]*)*+'";
    /** What of these goes on where a text is cut: all that is left. */
    private static final String UNCLOSED = "|(?:['\"]|/\\*|(?<![\\w$])\\$\\w*\\$).*";
    private static final Pattern QUOTED = quoted(TEXT, "");
    private static final Pattern QUOTED_WITH_BACKSLASHES = quoted(TEXT_WITH_BACKSLASHES, "");
    private static final Pattern CUT_QUOTED = quoted(TEXT, UNCLOSED);
    private static final Pattern CUT_QUOTED_WITH_BACKSLASHES = quoted(TEXT_WITH_BACKSLASHES, UNCLOSED);
    private static final String IN_PARENTHESES = "(?:(?!\\bFROM\\b)[^()]|\\((?:[^()]|\\([^()]*\\))*+\\))*+";
    /** Other uses of the word FROM. */
    private static final Pattern NO_TABLES = Pattern.compile("\\bDISTINCT\\s+FROM\\b"
            + "|\\b(?:EXTRACT|SUBSTRING|TRIM|OVERLAY)\\s*\\(" + IN_PARENTHESES + "\\bFROM\\b", Pattern.CASE_INSENSITIVE);
    /** A name that WITH gives, until what has it begins; what else may end that, or make names its own. */
    private static final Pattern NAMED = Pattern.compile("(?!(?<=[\\w$])[\\w$])(" + NAME + ")\\s*(?:\\([^()]*\\)\\s*)?"
            + "\\bAS\\s*(?:(?:NOT\\s+)?MATERIALIZED\\s*)?\\(|\\bUNION\\b|[()]", Pattern.CASE_INSENSITIVE);
    private static final Pattern QUOTES_AND_SPACE = Pattern.compile("[\"`\\[\\]\\s]");
    /** What a query changes that begins with WITH. */
    private static final Pattern CHANGE = Pattern.compile("\\b(INSERT(?=\\s+INTO\\b)|MERGE(?=\\s+INTO\\b)|DELETE(?=\\s+FROM\\b)"
            + "|UPDATE(?=\\s+\\S+(?:\\s+(?:AS\\s+)?\\w+)?\\s+SET\\b))", Pattern.CASE_INSENSITIVE);
    private static final int MOST_KNOWN = 1000;
    private static final Map<String, Endpoint> KNOWN = new ConcurrentHashMap<>();
    /** How many characters the texts that become known may still have. */
    private static final AtomicInteger ROOM = new AtomicInteger(1_000_000);

    private Sql() {}

    static Endpoint endpoint(String query) {
        Endpoint endpoint = KNOWN.get(query);
        if (endpoint == null) {
            endpoint = read(query);
            // Queries with their values in them may be any number.
            boolean hasRoom = KNOWN.size() < MOST_KNOWN && ROOM.get() >= query.length();
            if (hasRoom && KNOWN.putIfAbsent(query, endpoint) == null) {
                ROOM.addAndGet(-query.length());
            }
        }
        return endpoint;
    }

    /** Comments, texts (of PostgreSQL between `$$` or `$tag$`, too) and names in quotes, in which nothing else begins. */
    private static Pattern quoted(String text, String unclosed) {
        return Pattern.compile("--[^\\n]*|/\\*.*?\\*/|" + text
                + "|\"[^\"]*\"|(?<![\\w$])\\$(\\w*)\\$.*?\\$\\1\\$" + unclosed, Pattern.DOTALL);
    }

    static Endpoint read(String whole) {
        boolean isCut = whole.length() > MOST_READ;
        String text = isCut ? beginning(whole) : whole;
        String query = plain(text, isCut ? CUT_QUOTED : QUOTED);
        Set<String> tables = tables(query);
        if (text.contains("\\'")) {
            // Which of both it is the database knows: what stands in a text by either is no table.
            tables.retainAll(tables(plain(text, isCut ? CUT_QUOTED_WITH_BACKSLASHES : QUOTED_WITH_BACKSLASHES)));
        }
        Matcher verb = VERB.matcher(query);
        String does = verb.find() ? verb.group().toUpperCase(Locale.ROOT) : "";
        Matcher change = CHANGE.matcher(query);
        if (does.equals("WITH") && change.find()) {
            does = change.group(1).toUpperCase(Locale.ROOT);
        }
        return new Endpoint(does, String.join(", ", tables), Encoding.ROW);
    }

    /** As much as is read, up to white space, so that no name is cut. */
    private static String beginning(String text) {
        int end = MOST_READ;
        while (end > 0 && !Character.isWhitespace(text.charAt(end))) {
            end--;
        }
        return text.substring(0, end);
    }

    /** Without comments, texts, and other uses of the word FROM. */
    private static String plain(String text, Pattern quotes) {
        String query = quotes.matcher(text).replaceAll(quoted -> {
            boolean isName = quoted.group().startsWith("\"") && quoted.group().endsWith("\"");
            return isName ? Matcher.quoteReplacement(quoted.group()) : " ";
        });
        return NO_TABLES.matcher(query).replaceAll(" ");
    }

    private static Set<String> tables(String query) {
        Map<String, Integer> named = named(query);
        Set<String> tables = new LinkedHashSet<>();
        for (Matcher table = TABLES.matcher(query); table.find();) {
            if (table.group(1) != null) {
                String name = name(table.group(1));
                if (named.getOrDefault(key(name), query.length()) > table.start(1)) {
                    tables.add(name);
                }
            }
        }
        return tables;
    }

    private static String name(String quoted) {
        return QUOTES_AND_SPACE.matcher(quoted).replaceAll("");
    }

    /** What is the same of names that differ in case. */
    private static String key(String name) {
        return name.toLowerCase(Locale.ROOT);
    }

    /**
     * From where on each name that WITH gives is that of what has it: where this ends, as in this itself it is another's;
     * but where it recurs, behind UNION.
     */
    private static Map<String, Integer> named(String query) {
        Map<String, Integer> named = new HashMap<>();
        Deque<String> open = new ArrayDeque<>();
        List<String> beforeUnion = new ArrayList<>();
        for (Matcher part = NAMED.matcher(query); part.find();) {
            if (part.group(1) != null) {
                open.push(key(name(part.group(1))));
                beforeUnion.add(open.peek());
            } else if (part.group().equals("(")) {
                open.push("");
            } else if (!part.group().equals(")")) {
                beforeUnion.forEach(name -> named.putIfAbsent(name, part.end()));
                beforeUnion.clear();
            } else if (!open.isEmpty()) {
                named.putIfAbsent(open.pop(), part.end());
            }
        }
        return named;
    }
}
