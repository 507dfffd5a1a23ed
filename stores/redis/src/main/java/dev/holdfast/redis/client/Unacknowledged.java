package dev.holdfast.redis.client;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Stands for the reply to a call that was done, but that too few replicas have acknowledged in time.
 *
 * @param reply what the script has answered
 * @param why what the server said when it was asked for acknowledgements, for people
 */
public record Unacknowledged(@Nullable Object reply, String why) {

    /** Wraps a reply if too few replicas have acknowledged it; {@code answer} is what {@code WAIT} was answered. */
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
