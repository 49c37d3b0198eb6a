/*
 * What is shown of a query in SQL as its endpoint: what it does, and the tables it names. Not a parser: words
 * after FROM and JOIN, as far as they are names.
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
    private static final Pattern TABLES = Pattern.compile("\\b(?:FROM|JOIN)\\s+(" + NAME + "(?:\\s*\\.\\s*" + NAME
            + ")*)", Pattern.CASE_INSENSITIVE);
    /** Comments, texts and names in quotes, in which nothing else begins. */
    private static final Pattern QUOTED =
            Pattern.compile("--[^\\n]*|/\\*.*?\\*/|'[^']*'|\"[^\"]*\"", Pattern.DOTALL);
    /** Other uses of the word FROM. */
    private static final Pattern NO_TABLES = Pattern.compile(
            "\\bDISTINCT\\s+FROM\\b|\\b(?:EXTRACT|SUBSTRING|TRIM|OVERLAY)\\s*\\([^()]*\\)", Pattern.CASE_INSENSITIVE);
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

    private static Endpoint read(String text) {
        String query = QUOTED.matcher(text).replaceAll(quoted ->
                quoted.group().startsWith("\"") ? Matcher.quoteReplacement(quoted.group()) : " ");
        query = NO_TABLES.matcher(query).replaceAll(" ");
        Matcher verb = VERB.matcher(query);
        Set<String> tables = new LinkedHashSet<>();
        for (Matcher table = TABLES.matcher(query); table.find();) {
            tables.add(table.group(1).replaceAll("[\"`\\[\\]\\s]", ""));
        }
        return new Endpoint(verb.find() ? verb.group().toUpperCase(Locale.ROOT) : "", String.join(", ", tables),
                Encoding.ROW);
    }
}
