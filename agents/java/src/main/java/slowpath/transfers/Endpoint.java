/*
 * Where a remote object came from, as reports name it: method and URL, or what a query does and with which tables
 * or collection, without what differs from call to call; and how it travelled.
 */
package slowpath.transfers;

import java.util.Objects;

final class Endpoint {
    private static final int SHORTEST_TOKEN = 20;
    private static final int LEAST_DIGITS = 6;
    private static final int SHORTEST_TOKEN_OF_SERVICE = 16;
    /** How tokens begin of Stripe, Amazon, GitHub, GitLab and Slack. */
    private static final String[] SERVICES = {
        "sk_", "pk_", "rk_", "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox",
    };

    /** Longer templates, which nobody writes, are not kept. */
    private static final int LONGEST_KEPT = 500;
    /** What was made of templates, of which programs have few and use them all the time: in each place the last one. */
    private static final Made[] MADE = new Made[256];

    static final Endpoint UNKNOWN = new Endpoint("", "", Encoding.JSON);

    /** "GET", "SELECT"; empty where it is not known. */
    final String method;
    /** Without query and fragment; what identifies a single thing is `{}`, or named as the program's template does. */
    final String url;
    final Encoding encoding;
    private final int hash;

    Endpoint(String method, String url, Encoding encoding) {
        hash = Objects.hash(method, url);
        this.method = method;
        this.url = url;
        this.encoding = encoding;
    }

    /**
     * @param method its text is the method's name
     * @param template with names in braces; null: the program has none
     * @param uri where no template is known; null: that is not known either
     */
    static Endpoint of(Object method, String template, Object uri) {
        String name = method == null ? "" : method.toString();
        if (template != null && !template.startsWith("/") && template.length() <= LONGEST_KEPT) {
            return ofTemplate(name, template);
        }
        String url = uri == null ? "" : uri.toString();
        String named = template == null ? url : template.startsWith("/") ? base(url, template) + template : template;
        return new Endpoint(name, general(named), Encoding.JSON);
    }

    private static Endpoint ofTemplate(String method, String template) {
        int place = (template.hashCode() ^ template.hashCode() >>> 16) & MADE.length - 1;
        Made made = MADE[place];
        if (made == null || !made.template.equals(template) || !made.endpoint.method.equals(method)) {
            made = new Made(template, new Endpoint(method, general(template), Encoding.JSON));
            MADE[place] = made;
        }
        return made.endpoint;
    }

    /** What stands before the part of a URL that was made of a template: as many segments as it has besides. */
    private static String base(String url, String template) {
        String made = withoutQuery(url);
        String relative = withoutQuery(template);
        int authority = authority(made).length();
        int end = made.length();
        for (int index = 0; index < relative.length() && end > authority; index++) {
            if (relative.charAt(index) == '/') {
                end = made.lastIndexOf('/', end - 1);
            }
        }
        return made.substring(0, Math.max(end, authority));
    }

    /**
     * Without user and password, and parameters of segments. Segments that are numbers, dates, UUIDs, long hexadecimal
     * numbers or lists of these, numbers of orders and the like, or look like addresses of mail or tokens, become `{}`.
     */
    private static String general(String uri) {
        String url = withoutQuery(uri);
        int path = authority(url).length();
        StringBuilder general = new StringBuilder(url.length()).append(url, 0, path);
        int user = general.lastIndexOf("@");
        if (user >= 0) {
            int host = general.indexOf("://") + 3;
            general.delete(user < host ? 0 : host, user + 1);
        }
        while (path < url.length()) {
            int begin = url.charAt(path) == '/' ? path + 1 : path;
            int next = url.indexOf('/', begin);
            next = next < 0 ? url.length() : next;
            int parameters = url.indexOf(';', begin);
            int end = parameters < 0 || parameters > next ? next : parameters;
            boolean isSingle = identifies(url, begin, end) || begin > 0 && isSecret(url.substring(begin, end));
            general.append(url, path, begin).append(isSingle ? "{}" : url.substring(begin, end));
            path = next;
        }
        return general.toString();
    }

    private static boolean identifies(String url, int from, int end) {
        // As of telephones.
        int begin = url.startsWith("+", from) ? from + 1 : url.startsWith("%2B", from) ? from + 3 : from;
        boolean hexadecimal = end > begin;
        boolean decimal = end > begin;
        int digits = 0;
        for (int index = begin; index < end; index++) {
            char character = url.charAt(index);
            boolean digit = character >= '0' && character <= '9';
            boolean between = (character == '-' || character == ',') && index > begin;
            digits += digit ? 1 : 0;
            decimal &= digit || between;
            boolean letter = (character | 32) >= 'a' && (character | 32) <= 'f';
            hexadecimal &= digit || letter || between;
        }
        return decimal || hexadecimal && end - begin >= 16 || digits >= LEAST_DIGITS && 2 * digits > end - begin;
    }

    /** Whether it looks like an address of mail, or like a token. */
    private static boolean isSecret(String segment) {
        if (segment.indexOf('@') >= 0 || segment.contains("%40")) {
            return true;
        }
        if (segment.startsWith("{") || segment.length() < SHORTEST_TOKEN_OF_SERVICE) {
            return false;
        }
        int digits = 0;
        for (int index = 0; index < segment.length(); index++) {
            digits += isBetween('0', segment.charAt(index), '9') ? 1 : 0;
        }
        if (segment.length() >= SHORTEST_TOKEN && 4 * digits >= segment.length()) {
            return true;
        }
        // Names have points between words, tokens between what are such themselves; others are values of keys.
        for (String part : segment.split("[.=:,]")) {
            if (isToken(part)) {
                return true;
            }
        }
        return false;
    }

    /** Whether it begins like a token of a well-known service, or changes letters and digits more often than names do. */
    private static boolean isToken(String text) {
        if (text.length() >= SHORTEST_TOKEN_OF_SERVICE) {
            for (String service : SERVICES) {
                if (text.startsWith(service)) {
                    return true;
                }
            }
        }
        int numbers = 0;
        int changes = 0;
        char before = 0;
        for (int index = 0; index < text.length(); index++) {
            char character = text.charAt(index);
            char kind = isBetween('0', character, '9') ? '0'
                    : isBetween('A', character, 'Z') ? 'A' : isBetween('a', character, 'z') ? 'a' : 0;
            numbers += kind == '0' && before != '0' ? 1 : 0;
            changes += kind != 0 && before != 0 && kind != before ? 1 : 0;
            before = kind;
        }
        return text.length() >= SHORTEST_TOKEN && (numbers >= 3 || numbers > 0 && changes >= 0.4 * text.length());
    }

    private static boolean isBetween(char first, char character, char last) {
        return first <= character && character <= last;
    }

    /** "http://user@host:80" of a URL; all of it where it has no path, nothing where it has no scheme. */
    private static String authority(String url) {
        int scheme = url.indexOf("://");
        int path = scheme < 0 ? 0 : url.indexOf('/', scheme + 3);
        return url.substring(0, path < 0 ? url.length() : path);
    }

    private static String withoutQuery(String url) {
        for (int index = 0; index < url.length(); index++) {
            if (url.charAt(index) == '?' || url.charAt(index) == '#') {
                return url.substring(0, index);
            }
        }
        return url;
    }

    @Override
    public boolean equals(Object other) {
        return this == other || other instanceof Endpoint && url.equals(((Endpoint) other).url)
                && method.equals(((Endpoint) other).method);
    }

    @Override
    public int hashCode() {
        return hash;
    }

    /** Threads may see one that another has made without more ado, as nothing in it changes. */
    private static final class Made {
        private final String template;
        private final Endpoint endpoint;

        Made(String template, Endpoint endpoint) {
            this.template = template;
            this.endpoint = endpoint;
        }
    }
}
