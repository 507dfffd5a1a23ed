package dev.holdfast.redis.client;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Reads the replies of a server: lists of numbers and of texts in UTF-8. */
public final class Replies {

    private Replies() {}

    public static List<?> list(@Nullable Object reply) {
        return (List<?>) Objects.requireNonNull(reply, "a script answered nothing");
    }

    public static long number(List<?> parts, int index) {
        return (Long) Objects.requireNonNull(parts.get(index), "a number is missing in the answer of a script");
    }

    public static byte[] bytes(List<?> parts, int index) {
        return (byte[]) Objects.requireNonNull(parts.get(index), "a text is missing in the answer of a script");
    }

    public static String text(List<?> parts, int index) {
        return new String(bytes(parts, index), StandardCharsets.UTF_8);
    }

    /**
     * The host of a node that another node has named. A node that does not know the host leaves it out, or writes a
     * question mark: it is the host that was asked.
     */
    public static String host(@Nullable String named, String asked) {
        return named == null || named.isEmpty() || named.equals("?") ? asked : named;
    }
}
