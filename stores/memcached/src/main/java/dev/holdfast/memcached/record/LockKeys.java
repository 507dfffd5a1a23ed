package dev.holdfast.memcached.record;

import dev.holdfast.spi.LockName;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Optional;

/**
 * The keys of names: {@code PREFIX:NAME}, with blanks and percent signs written as {@code %20} and {@code %25}. A key
 * has at most 250 bytes, so that of a longer name is {@code PREFIX#HASH}, with the SHA-256 of the name.
 */
public final class LockKeys {

    private static final int MAX_BYTES = 250;

    /** How many bytes a {@code char} becomes at most. */
    private static final int MOST_BYTES_OF_CHAR = 3;

    private final String plain;
    private final String hashed;

    public LockKeys(String prefix) {
        this.plain = prefix + ":";
        this.hashed = prefix + "#";
    }

    public String of(LockName name) {
        String key = plain + escaped(name.value());
        return key.length() <= MAX_BYTES / MOST_BYTES_OF_CHAR
                        || key.getBytes(StandardCharsets.UTF_8).length <= MAX_BYTES
                ? key
                : hashed + HexFormat.of().formatHex(sha256(name.bytes()));
    }

    /** What all keys begin with, those of other prefixes perhaps too. */
    public String start() {
        return plain.substring(0, plain.length() - 1);
    }

    /** The name of a key; empty if its name is hashed or it is no key of a name. */
    Optional<LockName> name(String key) {
        if (!key.startsWith(plain)) {
            return Optional.empty();
        }
        String name = key.substring(plain.length()).replace("%20", " ").replace("%25", "%");
        try {
            return Optional.of(new LockName(name));
        } catch (IllegalArgumentException notOurs) {
            return Optional.empty();
        }
    }

    boolean isHashed(String key) {
        return key.startsWith(hashed);
    }

    private static String escaped(String text) {
        return text.indexOf('%') < 0 && text.indexOf(' ') < 0
                ? text
                : text.replace("%", "%25").replace(" ", "%20");
    }

    private static byte[] sha256(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (NoSuchAlgorithmException everyJdkHasIt) {
            throw new IllegalStateException(everyJdkHasIt);
        }
    }
}
