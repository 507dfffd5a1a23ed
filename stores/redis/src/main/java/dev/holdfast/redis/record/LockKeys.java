package dev.holdfast.redis.record;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.spi.LockName;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Maps a name to its key: {@code PREFIX{NAME}}. The braces make its hash slot in a cluster depend on the name alone. A
 * name that begins with a closing brace would leave the braces empty, so its key is {@code PREFIX0{0}NAME}}.
 */
public final class LockKeys implements KeyPattern {

    private static final String PLAIN = "{";
    private static final String ODD = "0{0}";
    private static final String END = "}";
    /** A multiple of three, so that the name needs no padding. */
    private static final int CHANNEL_BYTES = 12;

    private final String prefix;

    public LockKeys(String prefix) {
        this.prefix = prefix;
    }

    byte[] key(LockName name) {
        String value = name.value();
        String open = value.startsWith(END) ? ODD : PLAIN;
        return (prefix + open + value + END).getBytes(StandardCharsets.UTF_8);
    }

    /** The key of the mark of a node of a quorum. It has no braces, so no lock has it. */
    byte[] mark() {
        return (prefix + "node").getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public LockName name(byte[] key) {
        String text = new String(key, StandardCharsets.UTF_8);
        String open = text.startsWith(PLAIN, prefix.length()) ? PLAIN : ODD;
        return new LockName(text.substring(prefix.length() + open.length(), text.length() - END.length()));
    }

    @Override
    public boolean isKey(byte[] key) {
        String text = new String(key, StandardCharsets.UTF_8);
        boolean plain = text.startsWith(prefix + PLAIN) && text.length() > prefix.length() + PLAIN.length() + 1;
        return text.endsWith(END) && (plain || text.startsWith(prefix + ODD + END)) && isOfItsName(key);
    }

    // Nobody else should write here; a key whose name is none must not end the search for all others.
    private boolean isOfItsName(byte[] key) {
        try {
            return Arrays.equals(key(name(key)), key);
        } catch (IllegalArgumentException noName) {
            return false;
        }
    }

    @Override
    public byte[] pattern(String nameBegins) {
        boolean eitherForm = nameBegins.isEmpty();
        String open = nameBegins.startsWith(END) ? ODD : PLAIN;
        String begin = eitherForm ? prefix : prefix + open + nameBegins;
        return (literally(begin) + '*' + END).getBytes(StandardCharsets.UTF_8);
    }

    /** A glob pattern that matches this text and no other. */
    public static String literally(String text) {
        StringBuilder pattern = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '\\' || c == '*' || c == '?' || c == '[' || c == ']') {
                pattern.append('\\');
            }
            pattern.append(c);
        }
        return pattern.toString();
    }

    /** A channel name that no other client uses. */
    String newChannel() {
        byte[] random = new byte[CHANNEL_BYTES];
        ThreadLocalRandom.current().nextBytes(random);
        return prefix + "channel:" + Base64.getUrlEncoder().encodeToString(random);
    }

    /**
     * A channel name that no other client uses, in a slot of a cluster. The scripts recognise it by the brace at
     * its end.
     */
    String newChannel(int slot) {
        return newChannel() + PLAIN + HashSlot.tag(slot) + END;
    }
}
