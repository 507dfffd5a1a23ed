package dev.holdfast.redis.record;

import dev.holdfast.redis.client.Unacknowledged;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Handles grants that too few replicas have acknowledged.
 *
 * <p>A new grant is released again; if that succeeds, the failure reports the effect as NONE. An older grant, which
 * the same claim may hold since an earlier reply, is not released, and the failure reports the effect of this call
 * as UNKNOWN. Thread-safe.
 */
public final class ReplicaAcks {

    /** Far more than a client sends again after such a release. */
    private static final int MOST_UNANSWERED = 10_000;

    private final Function<Claim, CompletionStage<?>> release;
    private final Set<ClaimId> unanswered = ConcurrentHashMap.newKeySet();
    private final Queue<ClaimId> oldest = new ConcurrentLinkedQueue<>();

    /** @param release releases a claim */
    public ReplicaAcks(Function<Claim, CompletionStage<?>> release) {
        this.release = release;
    }

    /** What was read from a reply, and the code of the script, which says whether it has granted something. */
    public record Outcome<T>(T value, int code) {}

    /** An answer, and why it lacks acknowledgements; {@code missing} is null if it has them. */
    public record Answer<T>(T value, @Nullable String missing) {}

    /** Reads a reply, whether the replicas have acknowledged it or not. */
    public static <T> Answer<T> read(@Nullable Object reply, Function<Object, T> reader) {
        if (reply instanceof Unacknowledged without) {
            return new Answer<>(reader.apply(without.reply()), without.why());
        }
        return new Answer<>(reader.apply(reply), null);
    }

    /** Returns the value of the answer; fails if the answer is a grant that was not acknowledged. */
    public <T> CompletionStage<T> undoUnacknowledged(Answer<Outcome<T>> answer, List<Claim> claims) {
        String missing = answer.missing();
        int code = answer.value().code();
        if (missing == null || (code != ScriptReply.GRANTED && code != ScriptReply.HELD)) {
            return CompletableFuture.completedStage(answer.value().value());
        }
        if (code == ScriptReply.HELD) {
            return CompletableFuture.failedStage(unknown(claims, missing));
        }
        CompletableFuture<?>[] ends =
                claims.stream().map(claim -> undo(claim).toCompletableFuture()).toArray(CompletableFuture<?>[]::new);
        return CompletableFuture.allOf(ends).handle((done, failure) -> {
            throw failure == null
                    ? StoreException.unavailable(
                            Effect.NONE, text(claims, missing) + "; so it was released again. See replicas", null)
                    : unknown(claims, missing);
        });
    }

    private CompletionStage<?> undo(Claim claim) {
        return release.apply(claim).whenComplete((done, failure) -> {
            if (failure != null
                    && StoreException.of(failure).effect() == Effect.UNKNOWN
                    && unanswered.add(claim.id())) {
                oldest.add(claim.id());
                if (unanswered.size() > MOST_UNANSWERED) {
                    unanswered.remove(oldest.remove());
                }
            }
        });
    }

    /**
     * Whether a release by {@link #undoUnacknowledged} of the claim was not answered. It may arrive at any time, and would end
     * what the claim has been granted by then, so the claim must not be sent again.
     */
    public boolean mayBeReleasedLate(Claim claim) {
        return unanswered.contains(claim.id());
    }

    /** The failure of a renewal that the server has executed, but its replicas have not acknowledged. */
    public static StoreException unknown(List<Claim> claims, String missing) {
        return StoreException.unavailable(
                Effect.UNKNOWN, text(claims, missing) + "; it may be lost with the server. See replicas", null);
    }

    private static String text(List<Claim> claims, String missing) {
        Claim first = claims.get(0);
        return "\"" + first.name() + "\" is granted to " + first.id() + ", but " + missing;
    }
}
