package dev.holdfast.redis;

import dev.holdfast.spi.LockName;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Which key a name has: {@code PREFIX{NAME}}. The braces make all keys of one lock share a hash slot of a cluster. A name
 * that begins with a closing brace would leave the braces empty, so its key is {@code PREFIX0{0}NAME}}.
 */
final class LockKeys {

    private static final String PLAIN = "{";
    private static final String ODD = "0{0}";
    private static final String END = "}";

    private final String prefix;

    LockKeys(String prefix) {
        this.prefix = prefix;
    }

    byte[] key(LockName name) {
        String value = name.value();
        String open = value.startsWith(END) ? ODD : PLAIN;
        return (prefix + open + value + END).getBytes(StandardCharsets.UTF_8);
    }

    /** The name of a key that {@link #key} made. */
    LockName name(byte[] key) {
        String text = new String(key, StandardCharsets.UTF_8);
        String open = text.startsWith(PLAIN, prefix.length()) ? PLAIN : ODD;
        return new LockName(text.substring(prefix.length() + open.length(), text.length() - END.length()));
    }

    /** Whether a key was made by {@link #key} for some name. */
    boolean isKey(byte[] key) {
        String text = new String(key, StandardCharsets.UTF_8);
        boolean plain = text.startsWith(prefix + PLAIN) && text.length() > prefix.length() + PLAIN.length() + 1;
        return text.endsWith(END) && (plain || text.startsWith(prefix + ODD + END));
    }

    /** A glob pattern that every key of a name with this beginning matches, and others may. */
    byte[] pattern(String nameBegins) {
        boolean eitherForm = nameBegins.isEmpty();
        String open = nameBegins.startsWith(END) ? ODD : PLAIN;
        String begin = eitherForm ? prefix : prefix + open + nameBegins;
        StringBuilder pattern = new StringBuilder();
        for (int i = 0; i < begin.length(); i++) {
            char c = begin.charAt(i);
            if (c == '\\' || c == '*' || c == '?' || c == '[' || c == ']') {
                pattern.append('\\');
            }
            pattern.append(c);
        }
        return pattern.append('*').append(END).toString().getBytes(StandardCharsets.UTF_8);
    }

    /** A channel that nobody else has. */
    String newChannel() {
        return prefix + "channel:"
                + Long.toHexString(ThreadLocalRandom.current().nextLong())
                + Long.toHexString(ThreadLocalRandom.current().nextLong());
    }
}
