package dev.holdfast.internal;

import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What is asked for: the constant part of an acquisition, made once per lock object.
 *
 * @param maxHold the longest hold in nanoseconds; {@link Long#MAX_VALUE} if there is none
 * @param storeTimeout how long the store may be out of reach, in nanoseconds
 */
record Request(
        LockName name,
        int permits,
        int limit,
        Duration lease,
        boolean autoRenew,
        long maxHold,
        boolean fair,
        boolean spin,
        boolean reentrant,
        boolean interruptOnLoss,
        long storeTimeout,
        @Nullable Consumer<LossReason> onLost) {

    static Request of(LockName name, int permits, int limit, LockOptions options) {
        return new Request(
                name,
                permits,
                limit,
                options.lease(),
                options.autoRenew(),
                options.maxHold().map(Times::nanos).orElse(Long.MAX_VALUE),
                options.fair(),
                options.spin(),
                options.reentrant(),
                options.interruptOnLoss(),
                Times.nanos(options.storeTimeout()),
                options.onLost().orElse(null));
    }

    /** The same, renewed for as long as it is held: for a member of a multi-lock while the others are waited for. */
    Request renewedWithoutEnd() {
        return copy(name, permits, true, Long.MAX_VALUE, null);
    }

    /** The same options for another member of the multi-lock, without a listener. */
    Request of(LockName member) {
        return copy(member, permits, autoRenew, maxHold, null);
    }

    /** The same without a listener: a multi-lock has one for all its members. */
    Request withoutListener() {
        return of(name);
    }

    /** The read lock that a write lock is downgraded to. */
    Request asRead() {
        return copy(name, 1, autoRenew, maxHold, onLost);
    }

    private Request copy(
            LockName newName,
            int newPermits,
            boolean newAutoRenew,
            long newMaxHold,
            @Nullable Consumer<LossReason> newOnLost) {
        return new Request(
                newName,
                newPermits,
                limit,
                lease,
                newAutoRenew,
                newMaxHold,
                fair,
                spin,
                reentrant,
                interruptOnLoss,
                storeTimeout,
                newOnLost);
    }

    boolean isExclusive() {
        return permits == limit;
    }

    /** Whether this is a read lock: the only shared kind whose grant several local holders may share. */
    boolean isRead() {
        return limit == Claim.ALL && permits == 1;
    }

    /** Whether a grant that was made for {@code granted} is just what this asks for. */
    boolean isServedBy(Request granted) {
        return permits == granted.permits
                && limit == granted.limit
                && autoRenew == granted.autoRenew
                && lease.equals(granted.lease);
    }
}
