/*
 * Writes JSON, a value after another, commas between them put by itself. Not a library: only what reports need.
 */
package slowpath.transfers;

final class Json {
    private final StringBuilder text = new StringBuilder();
    private boolean needsComma;

    Json begin(char bracket) {
        comma();
        text.append(bracket);
        needsComma = false;
        return this;
    }

    Json end(char bracket) {
        text.append(bracket);
        needsComma = true;
        return this;
    }

    Json key(String key) {
        value(key);
        text.append(':');
        needsComma = false;
        return this;
    }

    Json value(String value) {
        comma();
        if (value == null) {
            text.append("null");
            return this;
        }
        text.append('"');
        for (int index = 0; index < value.length(); index++) {
            char character = value.charAt(index);
            if (character == '"' || character == '\\') {
                text.append('\\').append(character);
            } else if (character < ' ' || Character.isSurrogate(character)) {
                text.append(String.format("\\u%04x", (int) character));
            } else {
                text.append(character);
            }
        }
        text.append('"');
        return this;
    }

    Json value(long value) {
        comma();
        text.append(value);
        return this;
    }

    Json value(double value) {
        comma();
        text.append(Math.round(value * 1e6) / 1e6);
        return this;
    }

    Json with(String key, String value) {
        return key(key).value(value);
    }

    Json with(String key, long value) {
        return key(key).value(value);
    }

    Json with(String key, boolean value) {
        key(key).comma();
        text.append(value);
        return this;
    }

    Json with(String key, double value) {
        return key(key).value(value);
    }

    private void comma() {
        if (needsComma) {
            text.append(',');
        }
        needsComma = true;
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
