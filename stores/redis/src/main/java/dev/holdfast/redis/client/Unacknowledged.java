package dev.holdfast.redis.client;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Stands for the reply to a call that the server has executed, but that too few replicas have acknowledged in time.
 *
 * @param reply the reply of the script
 * @param why the server's answer to the request for acknowledgements, as text for a message
 */
public record Unacknowledged(@Nullable Object reply, String why) {

    /** Wraps a reply if too few replicas have acknowledged it; {@code answer} is the reply to {@code WAIT}. */
    public static @Nullable Object unless(@Nullable Object reply, ServerCall call, @Nullable Object answer) {
        if (answer instanceof Long count && count >= call.replicas()) {
            return reply;
        }
        String what = answer instanceof Long count
                ? count + " of " + call.replicas() + " replicas have acknowledged it within "
                        + call.replicaTimeout().toMillis() + " ms"
                : "the server could not ask its replicas (" + Objects.toString(answer, "no answer") + ")";
        return new Unacknowledged(reply, what);
    }
}
