package dev.holdfast.redis.record;

import dev.holdfast.redis.client.Unacknowledged;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What becomes of grants that too few replicas have acknowledged.
 *
 * <p>A new grant is released again; the failure then has no effect. Of an older one, which the same claim may hold by an
 * earlier answer, only that is said which is known: the outcome of this call.
 */
public final class ReplicaAcks {

    private final Function<Claim, CompletionStage<?>> release;

    /** @param release ends a claim */
    public ReplicaAcks(Function<Claim, CompletionStage<?>> release) {
        this.release = release;
    }

    /** An answer, and why it does not count; null if it does. */
    public record Answer<T>(T value, @Nullable String missing) {}

    /** Reads a reply, whether it was acknowledged or not. */
    public static <T> Answer<T> read(@Nullable Object reply, Function<Object, T> reader) {
        if (reply instanceof Unacknowledged without) {
            return new Answer<>(reader.apply(without.reply()), without.why());
        }
        return new Answer<>(reader.apply(reply), null);
    }

    /** Lets an answer pass, unless it grants and was not acknowledged. */
    public <T> CompletionStage<T> kept(Answer<T> answer, List<Claim> claims, List<Duration> granted) {
        String missing = answer.missing();
        if (missing == null || granted.isEmpty()) {
            return CompletableFuture.completedStage(answer.value());
        }
        for (int i = 0; i < granted.size(); i++) {
            if (!isNew(claims.get(i), granted.get(i))) {
                return CompletableFuture.failedStage(unknown(claims, missing));
            }
        }
        CompletableFuture<?>[] ends = claims.stream()
                .map(claim -> release.apply(claim).toCompletableFuture())
                .toArray(CompletableFuture<?>[]::new);
        return CompletableFuture.allOf(ends).handle((done, failure) -> {
            throw failure == null
                    ? StoreException.unavailable(
                            Effect.NONE, text(claims, missing) + "; so it was released again. See replicas", null)
                    : unknown(claims, missing);
        });
    }

    // What is left of a grant that an earlier call has made is less than the lease.
    private static boolean isNew(Claim claim, Duration left) {
        return ClaimArguments.millis(left) >= ClaimArguments.millis(claim.lease());
    }

    /** The failure of a renewal that the server has made, but its replicas have not. */
    public static StoreException unknown(List<Claim> claims, String missing) {
        return StoreException.unavailable(
                Effect.UNKNOWN, text(claims, missing) + "; it may be lost with the server. See replicas", null);
    }

    private static String text(List<Claim> claims, String missing) {
        Claim first = claims.get(0);
        return "\"" + first.name() + "\" is granted to " + first.id() + ", but " + missing;
    }

    public static List<Duration> granted(List<Attempt> attempts) {
        return attempts.stream()
                .filter(Attempt.Granted.class::isInstance)
                .map(attempt -> ((Attempt.Granted) attempt).lease())
                .toList();
    }

    public static List<Duration> granted(Renewed answer) {
        return answer instanceof Renewed.Held held ? List.of(held.lease()) : List.of();
    }
}
