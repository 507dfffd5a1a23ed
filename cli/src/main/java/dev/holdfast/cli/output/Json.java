package dev.holdfast.cli.output;

/**
 * Writes JSON on one line, a call for each token. It sets the commas; the caller opens and closes the brackets.
 */
public final class Json {

    private final StringBuilder text = new StringBuilder();
    private boolean first = true;

    public Json open(char bracket) {
        comma();
        text.append(bracket);
        first = true;
        return this;
    }

    public Json close(char bracket) {
        text.append(bracket);
        first = false;
        return this;
    }

    /** The name of the member whose value comes next. */
    public Json name(String name) {
        comma();
        quote(name);
        text.append(": ");
        first = true;
        return this;
    }

    public Json value(String value) {
        comma();
        quote(value);
        return this;
    }

    public Json value(long value) {
        comma();
        text.append(value);
        return this;
    }

    @Override
    public String toString() {
        return text.toString();
    }

    private void comma() {
        if (!first) {
            text.append(", ");
        }
        first = false;
    }

    private void quote(String value) {
        text.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            switch (c) {
                case '"' -> text.append("\\\"");
                case '\\' -> text.append("\\\\");
                case '\n' -> text.append("\\n");
                case '\r' -> text.append("\\r");
                case '\t' -> text.append("\\t");
                default -> {
                    // Half a surrogate pair cannot be written as UTF-8, and U+2028 ends lines in older JavaScript.
                    if (c < 0x20 || c == 0x7f || c == 0x2028 || c == 0x2029 || isHalfAPair(value, i)) {
                        unicode(c);
                    } else {
                        text.append(c);
                    }
                }
            }
        }
        text.append('"');
    }

    private void unicode(char c) {
        text.append("\\u");
        for (int shift = 12; shift >= 0; shift -= 4) {
            text.append(Character.forDigit((c >> shift) & 0xf, 16));
        }
    }

    private static boolean isHalfAPair(String value, int at) {
        char c = value.charAt(at);
        if (Character.isHighSurrogate(c)) {
            return at + 1 == value.length() || !Character.isLowSurrogate(value.charAt(at + 1));
        }
        return Character.isLowSurrogate(c) && (at == 0 || !Character.isHighSurrogate(value.charAt(at - 1)));
    }
}
