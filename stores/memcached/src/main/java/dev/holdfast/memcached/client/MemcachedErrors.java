package dev.holdfast.memcached.client;

import com.spotify.folsom.MemcacheAuthenticationException;
import com.spotify.folsom.MemcacheOverloadedException;
import com.spotify.folsom.MemcacheStatus;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.concurrent.CompletionException;

/** Translates failures: whether a request may have had an effect, whether a repeat may help, and what to do. */
public final class MemcachedErrors {

    private MemcachedErrors() {}

    /**
     * Translates a failed request.
     *
     * @param effect the effect that it may have had
     * @param server the server, for the message
     */
    public static StoreException of(Throwable failure, Effect effect, String server) {
        Throwable cause = failure;
        while (cause instanceof CompletionException && cause.getCause() != null) {
            cause = cause.getCause();
        }
        if (cause instanceof StoreException ours) {
            return ours;
        }
        if (cause instanceof MemcacheAuthenticationException) {
            return StoreException.refused(
                    server + " refused the login: check user and password in the URL, and whether the server wants"
                            + " login=text (-Y) or login=sasl (-S)",
                    cause);
        }
        if (cause instanceof MemcacheOverloadedException) {
            return StoreException.unavailable(
                    effect, "Not all was sent: too many requests wait for " + server + " already", cause);
        }
        return StoreException.unavailable(
                effect, server + " did not answer: " + reason(cause) + ". Is the server running?", cause);
    }

    /** What is thrown if the server has refused to store a value, which then had no effect. */
    public static StoreException refusedValue(MemcacheStatus status, String server) {
        return switch (status) {
            case OUT_OF_MEMORY ->
                StoreException.unavailable(
                        Effect.NONE,
                        server + " has no memory left (-M): give it more (-m), or a server of its own to locks",
                        null);
            case VALUE_TOO_LARGE ->
                StoreException.refused(
                        "The record of this name has grown too large for " + server
                                + ": too many claims hold it, or were released in doubt, at once",
                        null);
            default -> StoreException.unavailable(Effect.UNKNOWN, server + " answered " + status, null);
        };
    }

    private static String reason(Throwable cause) {
        String message = cause.getMessage();
        return message == null ? cause.toString() : message;
    }
}
