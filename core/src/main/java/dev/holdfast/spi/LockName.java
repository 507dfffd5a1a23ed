package dev.holdfast.spi;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The name of a resource: 1 to {@value #MAX_BYTES} bytes of UTF-8 without control characters.
 *
 * <p>Names are compared byte by byte: {@code "A"}, {@code "a"} and {@code "a "} are three resources on every store.
 * The natural order is the order of the UTF-8 bytes. Several names are locked in this order.
 *
 * @param value the name as text
 */
public record LockName(String value) implements Comparable<LockName> {

    /**
     * The longest name, in bytes of UTF-8. It fits the shortest maximum key length of the stores (Memcached: 250,
     * with the prefix hashed).
     */
    public static final int MAX_BYTES = 255;

    /**
     * @throws IllegalArgumentException if the name is empty, too long, has a control character or is not valid
     *     Unicode text
     */
    public LockName {
        if (value.isEmpty()) {
            throw new IllegalArgumentException(
                    "A lock name must have 1 to " + MAX_BYTES + " bytes of UTF-8, but was empty");
        }
        int bytes = utf8(value).length;
        if (bytes > MAX_BYTES) {
            throw new IllegalArgumentException("A lock name must have 1 to " + MAX_BYTES + " bytes of UTF-8, but \""
                    + value.substring(0, Math.min(40, value.length())) + "...\" has " + bytes);
        }
        value.codePoints().filter(Character::isISOControl).findFirst().ifPresent(c -> {
            throw new IllegalArgumentException(String.format(
                    "A lock name must not have control characters, but \"%s\" has U+%04X", printable(value), c));
        });
    }

    /** The bytes of the name in UTF-8, as a new array each time. */
    public byte[] bytes() {
        return value.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public int compareTo(LockName other) {
        return Arrays.compareUnsigned(bytes(), other.bytes());
    }

    // Written by hand because maps use it as a key on the hot path, as ClaimId. The text remembers its hash code.
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof LockName name && value.equals(name.value);
    }

    @Override
    public int hashCode() {
        return value.hashCode();
    }

    @Override
    public String toString() {
        return value;
    }

    private static byte[] utf8(String value) {
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            boolean paired = Character.isHighSurrogate(c)
                    && i + 1 < value.length()
                    && Character.isLowSurrogate(value.charAt(i + 1));
            if (Character.isSurrogate(c) && !paired) {
                throw new IllegalArgumentException("A lock name must be valid Unicode text, but \"" + printable(value)
                        + "\" has half a surrogate pair");
            }
            i += paired ? 1 : 0;
        }
        return value.getBytes(StandardCharsets.UTF_8);
    }

    private static String printable(String value) {
        return value.replaceAll("\\p{Cc}", "?");
    }
}
