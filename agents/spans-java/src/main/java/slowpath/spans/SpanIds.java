/*
 * The numbers in OpenTelemetry's hexadecimal ids, without allocating. Not a check of ids: a SpanContext
 * that is valid has 32 and 16 lower-case digits, and anything else gives some number, never an exception.
 */
package slowpath.spans;

final class SpanIds {
    private SpanIds() {}

    /** The 64 bits that the 16 digits from {@code begin} on stand for; fewer where the text is shorter. */
    static long bits(CharSequence hexadecimal, int begin) {
        long bits = 0;
        int end = Math.min(begin + 16, hexadecimal.length());
        for (int index = begin; index < end; index++) {
            // '0'..'9' end in 0..9, 'a'..'f' and 'A'..'F' in 1..6 with the bit of 64 set.
            int character = hexadecimal.charAt(index);
            bits = bits << 4 | (character & 15) + (character >> 6 & 1) * 9;
        }
        return bits;
    }
}
