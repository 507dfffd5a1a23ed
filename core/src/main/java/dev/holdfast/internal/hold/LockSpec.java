package dev.holdfast.internal.hold;

import dev.holdfast.LockObserver;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What is asked for: the constant part of an acquisition, made once per lock object.
 *
 * @param maxHold the longest hold in nanoseconds; {@link Nanos#NEVER} if there is none
 * @param storeTimeout how long the store may be out of reach, in nanoseconds
 * @param label what people see as the label of the owner, instead of the client's; asked before each request, also under
 *     mutexes and on threads that renew, so it must only read a field; null for the client's label
 * @param ofSemaphore whether these are permits of a semaphore; one of a single permit is a mutex for the store
 * @param member whether this is for a multi-lock that has not got all its members: the user has nothing yet
 */
public record LockSpec(
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
        @Nullable Consumer<LossReason> onLost,
        @Nullable Supplier<String> label,
        boolean ofSemaphore,
        boolean member) {

    /** A mutex, or half of a read-write lock. */
    public static LockSpec of(LockName name, int permits, int limit, LockOptions options) {
        return of(name, permits, limit, options, false);
    }

    /** Some permits of a semaphore. */
    public static LockSpec ofSemaphore(LockName name, int permits, int limit, LockOptions options) {
        return of(name, permits, limit, options, true);
    }

    private static LockSpec of(LockName name, int permits, int limit, LockOptions options, boolean ofSemaphore) {
        return new LockSpec(
                name,
                permits,
                limit,
                options.lease(),
                options.autoRenew(),
                options.maxHold().map(Nanos::of).orElse(Nanos.NEVER),
                options.fair(),
                options.spin(),
                options.reentrant(),
                options.interruptOnLoss(),
                Nanos.of(options.storeTimeout()),
                options.onLost().orElse(null),
                null,
                ofSemaphore,
                false);
    }

    /** The same for a member of a multi-lock until it has all its members: its loss concerns nobody yet. */
    public LockSpec ofMember() {
        return copy(permits, autoRenew, maxHold, false, null, true);
    }

    /** The same while other members are waited for: renewed for as long as it is held. */
    public LockSpec renewedWithoutEnd() {
        return copy(permits, true, Nanos.NEVER, false, null, true);
    }

    /** The read lock that a write lock is downgraded to. */
    public LockSpec asRead() {
        return copy(1, autoRenew, maxHold, interruptOnLoss, onLost, member);
    }

    /** A place in the wait set of a condition. */
    public LockSpec asWaitSet(LockName waitSet) {
        return new LockSpec(
                waitSet,
                1,
                0,
                lease,
                false,
                Nanos.NEVER,
                false,
                false,
                false,
                false,
                storeTimeout,
                null,
                null,
                false,
                false);
    }

    /** The claim of a candidate in an election: a mutex, in the strict order of arrival, with a label of its own. */
    public static LockSpec candidate(LockName name, Duration lease, Duration storeTimeout, Supplier<String> label) {
        return new LockSpec(
                name,
                1,
                1,
                lease,
                true,
                Nanos.NEVER,
                true,
                false,
                false,
                false,
                Nanos.of(storeTimeout),
                null,
                label,
                false,
                false);
    }

    private LockSpec copy(
            int newPermits,
            boolean newAutoRenew,
            long newMaxHold,
            boolean newInterruptOnLoss,
            @Nullable Consumer<LossReason> newOnLost,
            boolean newMember) {
        return new LockSpec(
                name,
                newPermits,
                limit,
                lease,
                newAutoRenew,
                newMaxHold,
                fair,
                spin,
                reentrant,
                newInterruptOnLoss,
                storeTimeout,
                newOnLost,
                label,
                ofSemaphore,
                newMember);
    }

    public boolean isExclusive() {
        return permits == limit;
    }

    /** What observers call it. */
    public LockObserver.Kind kind() {
        if (limit == Claim.ALL) {
            return isRead() ? LockObserver.Kind.READ : LockObserver.Kind.WRITE;
        }
        return limit == 1 && !ofSemaphore ? LockObserver.Kind.MUTEX : LockObserver.Kind.PERMITS;
    }

    /** Whether this is a read lock: the only shared kind whose grant several local holders may share. */
    public boolean isRead() {
        return limit == Claim.ALL && permits == 1;
    }

    /** Whether a grant that was made for {@code granted} is just what this asks for. */
    public boolean isServedBy(LockSpec granted) {
        return permits == granted.permits
                && limit == granted.limit
                && autoRenew == granted.autoRenew
                && lease.equals(granted.lease);
    }
}
