/*
 * Where a remote object came from, as reports name it: method and URL, or what a query does and with which tables
 * or collection, without what differs from call to call; and how it travelled.
 */
package slowpath.transfers;

import java.util.Objects;

final class Endpoint {
    static final Endpoint UNKNOWN = new Endpoint("", "", Encoding.JSON);

    /** "GET", "SELECT"; empty where it is not known. */
    final String method;
    /** Without query and fragment; what identifies a single thing is `{}`, or named as the program's template does. */
    final String url;
    final Encoding encoding;

    Endpoint(String method, String url, Encoding encoding) {
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
        String url = uri == null ? "" : uri.toString();
        String named = template == null ? url : template.startsWith("/") ? base(url, template) + template : template;
        return new Endpoint(method == null ? "" : method.toString(), general(named), Encoding.JSON);
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

    /** Segments that are numbers, UUIDs or long hexadecimal numbers become `{}`. */
    static String general(String uri) {
        String url = withoutQuery(uri);
        int path = authority(url).length();
        StringBuilder general = new StringBuilder(url.length()).append(url, 0, path);
        while (path < url.length()) {
            int begin = url.charAt(path) == '/' ? path + 1 : path;
            int end = url.indexOf('/', begin);
            end = end < 0 ? url.length() : end;
            general.append(url, path, begin).append(identifies(url, begin, end) ? "{}" : url.substring(begin, end));
            path = end;
        }
        return general.toString();
    }

    private static boolean identifies(String url, int begin, int end) {
        boolean hexadecimal = end > begin;
        boolean decimal = end > begin;
        for (int index = begin; index < end && hexadecimal; index++) {
            char character = url.charAt(index);
            boolean digit = character >= '0' && character <= '9';
            decimal &= digit;
            boolean letter = (character | 32) >= 'a' && (character | 32) <= 'f';
            hexadecimal = digit || letter || character == '-' && index > begin;
        }
        return decimal || hexadecimal && end - begin >= 16;
    }

    /** "http://host:80" of a URL; all of it where it has no path, nothing where it has no scheme. */
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
        return other instanceof Endpoint && url.equals(((Endpoint) other).url)
                && method.equals(((Endpoint) other).method);
    }

    @Override
    public int hashCode() {
        return Objects.hash(method, url);
    }
}
