package dev.holdfast.redis.client;

import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Reads the replies of a server: lists of numbers and of texts in UTF-8. */
public final class Replies {

    private Replies() {}

    /**
     * Makes a call and reads its reply. If the reply is none that a script of ours returns, the script is foreign or the
     * server is broken.
     *
     * @throws StoreException with an unknown effect if the reply cannot be read
     */
    public static <T> T read(Supplier<T> call) {
        try {
            return call.get();
        } catch (StoreException expected) {
            throw expected;
        } catch (RuntimeException unreadable) {
            throw StoreException.unavailable(
                    Effect.UNKNOWN, "An answer of the server cannot be read: " + unreadable, unreadable);
        }
    }

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
     * The host of a node that another node has named. A node leaves it out if the host is the one that was asked.
     *
     * @return null if the node has written a question mark: it should name hosts, and was not told this one
     */
    public static @Nullable String host(@Nullable String named, String asked) {
        if (named == null || named.isEmpty()) {
            return asked;
        }
        return named.equals("?") ? null : named;
    }
}
