package dev.holdfast.spi;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The id of one acquisition attempt. It is unique per attempt, not per thread or process, so that a repeated
 * request is recognised (law 2) and a late release cannot touch a newer grant (law 3).
 *
 * @param client the random id of the client ({@code Holdfast} instance) that made the claim; 1 to 64 letters, digits,
 *     {@code _} or {@code -}
 * @param sequence a number that the client has not used before
 */
public record ClaimId(String client, long sequence) {

    private static final Pattern CLIENT = Pattern.compile("[A-Za-z0-9_-]{1,64}");

    /** @throws IllegalArgumentException if the client id has other characters, or the sequence is negative */
    public ClaimId {
        if (!isPlain(client)) {
            throw new IllegalArgumentException(
                    "A client id must match " + CLIENT.pattern() + ", but was \"" + client + "\"");
        }
        if (sequence < 0) {
            throw new IllegalArgumentException("A claim's sequence must not be negative, but was " + sequence);
        }
    }

    /** Parses the text that {@link #toString()} returns. */
    public static ClaimId parse(String text) {
        int dot = text.lastIndexOf('.');
        if (dot < 0) {
            throw new IllegalArgumentException("A claim id looks like CLIENT.NUMBER, but was \"" + text + "\"");
        }
        return new ClaimId(text.substring(0, dot), Long.parseLong(text.substring(dot + 1), Character.MAX_RADIX));
    }

    /** The text {@code CLIENT.SEQUENCE}, with the sequence in base 36. */
    @Override
    public String toString() {
        return client + '.' + Long.toString(sequence, Character.MAX_RADIX);
    }

    // Written by hand because maps use it as a key on the hot path, and the methods that a record generates are
    // slow until the JIT compiler has fully optimised them.
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof ClaimId id && sequence == id.sequence && client.equals(id.client);
    }

    @Override
    public int hashCode() {
        return 31 * client.hashCode() + Long.hashCode(sequence);
    }

    // A loop instead of the pattern: claim ids are created on the hot path, where a regular expression would be
    // most of the cost.
    private static boolean isPlain(String client) {
        if (client.isEmpty() || client.length() > 64) {
            return false;
        }
        for (int i = 0; i < client.length(); i++) {
            char c = client.charAt(i);
            boolean plain =
                    (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
            if (!plain) {
                return false;
            }
        }
        return true;
    }
}
