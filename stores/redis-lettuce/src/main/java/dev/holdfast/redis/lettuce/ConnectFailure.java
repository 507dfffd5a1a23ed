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

/** What it means that Lettuce could not make a connection, to one of several servers perhaps. */
final class ConnectFailure {

    private static final String OF_SENTINELS = "Cannot connect to a Redis Sentinel";

    private ConnectFailure() {}

    /** @param place what the servers are called in messages */
    static StoreException meaning(Throwable failure, String place) {
        Set<Throwable> all = new LinkedHashSet<>();
        collect(failure, all);
        List<Throwable> reasons =
                all.stream().filter(one -> one.getCause() == null).toList();
        // Who answers, be it with a refusal, says more than who cannot be reached.
        Optional<Throwable> refusal = reasons.stream()
                .filter(RedisCommandExecutionException.class::isInstance)
                .findFirst();
        if (refusal.isPresent()) {
            String message = String.valueOf(refusal.get().getMessage());
            return all.stream().anyMatch(ConnectFailure::isOfSentinels)
                    ? refusedBySentinels(message, place, failure)
                    : refused(message, place, failure);
        }
        // Where there were several, an exception of Lettuce's own sums up what was wrong with each.
        Throwable reason = reasons.stream()
                .filter(one -> !(one instanceof RedisException))
                .findFirst()
                .orElse(reasons.isEmpty() ? failure : reasons.get(0));
        return StoreException.unavailable(
                Effect.NONE,
                "Cannot connect to " + place + " (" + reason
                        + "): is the server running, and are host, port and TLS right?",
                failure);
    }

    // Of several servers that were tried, Lettuce keeps what was wrong with each in suppressed exceptions.
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

    // The user and the password of the URL are those of the servers, which were not even asked.
    private static StoreException refusedBySentinels(String message, String place, Throwable failure) {
        return StoreException.unavailable(
                Effect.NONE,
                "No Sentinel of " + place + " names the primary (" + message
                        + "): are sentinelUser and sentinelPassword right?",
                failure);
    }

    private static StoreException refused(String message, String place, Throwable failure) {
        StoreException meaning = ServerError.of(message, place, failure);
        return meaning.retryable()
                ? StoreException.unavailable(Effect.NONE, String.valueOf(meaning.getMessage()), failure)
                : meaning;
    }
}
