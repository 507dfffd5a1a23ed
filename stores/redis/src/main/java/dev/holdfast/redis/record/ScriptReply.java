package dev.holdfast.redis.record;

import dev.holdfast.redis.client.Replies;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The reply of a script: a code, two numbers, and the caller's waiters that were granted. The headers of the
 * scripts describe it.
 */
public record ScriptReply(int code, long first, long second, List<Handed> handed) {

    public static final int BUSY = 0;
    public static final int HELD = 1;
    static final int WAITING = 2;
    static final int OTHER_KIND = 3;
    static final int TOO_MANY = 4;
    public static final int GONE = 5;
    static final int QUEUE_FULL = 6;
    public static final int UNREADABLE = 7;
    /** Waiting, but the server knows no subscriber of the waiter's channel. */
    static final int UNREACHABLE = 8;
    /** Held, and it is this call that has made the grant. */
    static final int GRANTED = 9;

    /** The index at which the grants to waiters begin. */
    private static final int HANDED = 3;

    /** Reads a reply. A claim that this call has granted at once is answered by a bare number, its counter. */
    public static ScriptReply of(@Nullable Object reply, Claim claim) {
        if (reply instanceof Long counter) {
            return new ScriptReply(GRANTED, counter, ClaimArguments.millis(claim.lease()) * 1_000, List.of());
        }
        List<?> parts = Replies.list(reply);
        return new ScriptReply(
                (int) Replies.number(parts, 0),
                Replies.number(parts, 1),
                Replies.number(parts, 2),
                handed(parts, HANDED));
    }

    public Attempt attempt(Claim claim) {
        return switch (code) {
            case BUSY -> new Attempt.Busy(ClaimArguments.micros(first));
            case HELD, GRANTED -> new Granted(first, ClaimArguments.micros(second));
            default -> throw refusal(claim);
        };
    }

    public Renewed renewed(Claim claim) {
        return switch (code) {
            case HELD, GRANTED -> new Granted(first, ClaimArguments.micros(second));
            case WAITING, UNREACHABLE -> new Renewed.Waiting((int) first, ClaimArguments.micros(second));
            case GONE -> new Renewed.Gone(reason(first));
            default -> throw refusal(claim);
        };
    }

    private StoreException refusal(Claim claim) {
        LockName name = claim.name();
        return switch (code) {
            case OTHER_KIND -> new KindConflictException(name, claim.limit(), (int) first);
            case TOO_MANY ->
                StoreException.refused(
                        "Claim " + claim.id() + " holds " + first + " of " + second + " permits of \"" + name
                                + "\" and cannot be changed to " + claim.permits() + " of " + claim.limit(),
                        null);
            case QUEUE_FULL ->
                StoreException.refused(
                        "\"" + name + "\" has " + LockStore.MAX_QUEUE + " waiters already, which is the most", null);
            default -> throw new IllegalStateException("A script answered with code " + code);
        };
    }

    static Renewed.Reason reason(long number) {
        return switch ((int) number) {
            case 1 -> Renewed.Reason.TAKEN;
            case 2 -> Renewed.Reason.RELEASED;
            default -> Renewed.Reason.EXPIRED;
        };
    }

    /** Reads id, counter and lease of each grant, starting at this index. */
    public static List<Handed> handed(List<?> parts, int from) {
        if (parts.size() <= from) {
            return List.of();
        }
        List<Handed> handed = new ArrayList<>();
        for (int i = from; i < parts.size(); i += 3) {
            ClaimId id = ClaimId.parse(Replies.text(parts, i));
            Duration lease = Duration.ofMillis(Replies.number(parts, i + 2));
            handed.add(new Handed(id, new Granted(Replies.number(parts, i + 1), lease)));
        }
        return handed;
    }
}
