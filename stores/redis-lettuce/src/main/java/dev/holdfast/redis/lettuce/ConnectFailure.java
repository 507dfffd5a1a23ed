package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.client.ServerError;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Translates the failure of Lettuce to make a connection, perhaps to one of several servers. */
final class ConnectFailure {

    private static final String OF_SENTINELS = "Cannot connect to a Redis Sentinel";

    private ConnectFailure() {}

    /** @param endpoint the name of the servers in messages */
    static StoreException meaning(Throwable failure, String endpoint) {
        Set<Throwable> all = all(failure);
        List<Throwable> reasons =
                all.stream().filter(one -> one.getCause() == null).toList();
        // A server that answers, even with a refusal, says more than one that cannot be reached.
        Optional<Throwable> refusal = reasons.stream()
                .filter(RedisCommandExecutionException.class::isInstance)
                .findFirst();
        if (refusal.isPresent()) {
            String message = String.valueOf(refusal.get().getMessage());
            return all.stream().anyMatch(ConnectFailure::isOfSentinels)
                    ? refusedBySentinels(message, endpoint, failure)
                    : refused(message, endpoint, failure);
        }
        // If several servers were tried, an exception of Lettuce only sums up their failures, so another one is
        // preferred.
        Throwable reason = reasons.stream()
                .filter(one -> !(one instanceof RedisException))
                .findFirst()
                .orElse(reasons.isEmpty() ? failure : reasons.get(0));
        return StoreException.unavailable(
                Effect.NONE,
                "Cannot connect to " + endpoint + " (" + reason
                        + "): is the server running, and are host, port and TLS right?",
                failure);
    }

    /** The failure and all that caused it. If several servers were tried, Lettuce keeps each one's failure suppressed. */
    static Set<Throwable> all(Throwable failure) {
        Set<Throwable> all = new LinkedHashSet<>();
        collect(failure, all);
        return all;
    }

    private static void collect(@Nullable Throwable failure, Set<Throwable> all) {
        if (failure == null || !all.add(failure)) {
            return;
        }
        collect(failure.getCause(), all);
        for (Throwable other : failure.getSuppressed()) {
            if (other instanceof RedisException) {
                collect(other, all);
            }
        }
    }

    private static boolean isOfSentinels(Throwable failure) {
        return String.valueOf(failure.getMessage()).startsWith(OF_SENTINELS);
    }

    // The user and the password of the URL are those of the servers, which were not even asked. So they are not the
    // cause.
    private static StoreException refusedBySentinels(String message, String endpoint, Throwable failure) {
        return StoreException.unavailable(
                Effect.NONE,
                "No Sentinel of " + endpoint + " names the primary (" + message
                        + "): are sentinelUser and sentinelPassword right?",
                failure);
    }

    private static StoreException refused(String message, String endpoint, Throwable failure) {
        StoreException meaning = ServerError.of(message, endpoint, failure);
        return meaning.retryable()
                ? StoreException.unavailable(Effect.NONE, String.valueOf(meaning.getMessage()), failure)
                : meaning;
    }
}
