/*
 * What is shown of a query in SQL as its endpoint: what it does, and the tables it names. Not a parser: words
 * after FROM and JOIN, as far as they are names, and none that WITH gives.
 */
package slowpath.transfers;

import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

final class Sql {
    private static final Pattern VERB = Pattern.compile("[A-Za-z]+");
    private static final String NAME = "(?:[\\w$]+|\"[^\"]+\"|`[^`]+`|\\[[^\\]]+\\])";
    /** What is in quotes and no table is told by no group, so that nothing begins inside of it. */
    private static final Pattern TABLES = Pattern.compile("\\b(?:FROM|JOIN)\\s+(?:(?:ONLY|LATERAL)\\b\\s*)?"
            + "(?!(?:ONLY|LATERAL|SELECT)\\b)(" + NAME + "(?:\\s*\\.\\s*" + NAME + ")*)|\"[^\"]*\"|`[^`]*`",
            Pattern.CASE_INSENSITIVE);
    /** Comments, texts (of PostgreSQL between `$$` or `$tag$`, too) and names in quotes, in which nothing else begins. */
    private static final Pattern QUOTED = quoted("'[^']*'");
    /** The same for MySQL, where a backslash keeps a quote from ending a text. */
    private static final Pattern QUOTED_WITH_BACKSLASHES = quoted("'[^'\\\\]*(?:\\\\.[^'\\\\]*)*'");
    private static final String IN_PARENTHESES = "(?:[^()]|\\((?:[^()]|\\([^()]*\\))*\\))*?";
    /** Other uses of the word FROM. */
    private static final Pattern NO_TABLES = Pattern.compile("\\bDISTINCT\\s+FROM\\b"
            + "|\\b(?:EXTRACT|SUBSTRING|TRIM|OVERLAY)\\s*\\(" + IN_PARENTHESES + "\\bFROM\\b", Pattern.CASE_INSENSITIVE);
    /** A name that WITH gives, until what has it begins. */
    private static final Pattern NAMED = Pattern.compile("(" + NAME + ")\\s*(?:\\([^()]*\\)\\s*)?"
            + "\\bAS\\s*(?:(?:NOT\\s+)?MATERIALIZED\\s*)?\\(", Pattern.CASE_INSENSITIVE);
    private static final Pattern UNION = Pattern.compile("\\bUNION\\b", Pattern.CASE_INSENSITIVE);
    /** What a query changes that begins with WITH. */
    private static final Pattern CHANGE = Pattern.compile("\\b(INSERT(?=\\s+INTO\\b)|MERGE(?=\\s+INTO\\b)|DELETE(?=\\s+FROM\\b)"
            + "|UPDATE(?=\\s+\\S+(?:\\s+(?:AS\\s+)?\\w+)?\\s+SET\\b))", Pattern.CASE_INSENSITIVE);
    private static final int MOST_KNOWN = 1000;
    private static final Map<String, Endpoint> KNOWN = new ConcurrentHashMap<>();

    private Sql() {}

    static Endpoint endpoint(String query) {
        Endpoint endpoint = KNOWN.get(query);
        if (endpoint == null) {
            endpoint = read(query);
            // Queries with their values in them may be any number.
            if (KNOWN.size() < MOST_KNOWN) {
                KNOWN.put(query, endpoint);
            }
        }
        return endpoint;
    }

    private static Pattern quoted(String text) {
        return Pattern.compile("--[^\\n]*|/\\*.*?\\*/|" + text
                + "|\"[^\"]*\"|(?<![\\w$])\\$(\\w*)\\$.*?\\$\\1\\$", Pattern.DOTALL);
    }

    private static Endpoint read(String text) {
        String query = plain(text, QUOTED);
        Set<String> tables = tables(query);
        if (text.contains("\\'")) {
            // Which of both it is the database knows: what stands in a text by either is no table.
            tables.retainAll(tables(plain(text, QUOTED_WITH_BACKSLASHES)));
        }
        Matcher verb = VERB.matcher(query);
        String does = verb.find() ? verb.group().toUpperCase(Locale.ROOT) : "";
        Matcher change = CHANGE.matcher(query);
        if (does.equals("WITH") && change.find()) {
            does = change.group(1).toUpperCase(Locale.ROOT);
        }
        return new Endpoint(does, String.join(", ", tables), Encoding.ROW);
    }

    /** Without comments, texts, and other uses of the word FROM. */
    private static String plain(String text, Pattern quotes) {
        String query = quotes.matcher(text).replaceAll(quoted ->
                quoted.group().startsWith("\"") ? Matcher.quoteReplacement(quoted.group()) : " ");
        return NO_TABLES.matcher(query).replaceAll(" ");
    }

    private static Set<String> tables(String query) {
        Set<String> tables = new LinkedHashSet<>();
        for (Matcher table = TABLES.matcher(query); table.find();) {
            if (table.group(1) != null && !isNamedBefore(query, name(table.group(1)), table.start(1))) {
                tables.add(name(table.group(1)));
            }
        }
        return tables;
    }

    private static String name(String quoted) {
        return quoted.replaceAll("[\"`\\[\\]\\s]", "");
    }

    /** Whether WITH has given it to something; in that itself it is another's, but where it recurs, behind UNION. */
    private static boolean isNamedBefore(String query, String name, int at) {
        for (Matcher named = NAMED.matcher(query); named.find() && named.end() <= at;) {
            boolean isSame = name(named.group(1)).equalsIgnoreCase(name);
            if (isSame && (end(query, named.end()) <= at || UNION.matcher(query).region(named.end(), at).find())) {
                return true;
            }
        }
        return false;
    }

    /** Where the parenthesis is closed that was opened before. */
    private static int end(String query, int begin) {
        int end = begin;
        for (int open = 1; open > 0 && end < query.length(); end++) {
            open += query.charAt(end) == '(' ? 1 : query.charAt(end) == ')' ? -1 : 0;
        }
        return end;
    }
}
