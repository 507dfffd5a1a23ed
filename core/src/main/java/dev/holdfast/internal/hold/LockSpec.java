package dev.holdfast.internal.hold;

import dev.holdfast.LockConflictException;
import dev.holdfast.LockObserver;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockName;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What is asked for: the constant part of an acquisition, made once per lock object.
 *
 * @param label what people see as the label of the owner, instead of the client's; asked before each request, also under
 *     mutexes and on threads that renew, so it must only read a field; null for the client's label
 * @param ofSemaphore whether these are permits of a semaphore; one of a single permit is a mutex for the store
 * @param member whether this is for a multi-lock that has not got all its members: the user has nothing yet
 */
public record LockSpec(
        LockName name,
        int permits,
        int limit,
        LockOptions options,
        @Nullable Supplier<String> label,
        boolean ofSemaphore,
        boolean member) {

    /** A mutex, or half of a read-write lock. */
    public static LockSpec of(LockName name, int permits, int limit, LockOptions options) {
        return new LockSpec(name, permits, limit, options, null, false, false);
    }

    /** Some permits of a semaphore. */
    public static LockSpec ofSemaphore(LockName name, int permits, int limit, LockOptions options) {
        return new LockSpec(name, permits, limit, options, null, true, false);
    }

    /** The claim of a candidate in an election: a mutex, in the strict order of arrival, with a label of its own. */
    public static LockSpec candidate(LockName name, Duration lease, Duration storeTimeout, Supplier<String> label) {
        LockOptions options = LockOptions.defaults()
                .withLease(lease)
                .withStoreTimeout(storeTimeout)
                .withFair(true)
                .withReentrant(false);
        return new LockSpec(name, 1, 1, options, label, false, false);
    }

    /** A place in the wait set of a condition, of whose options the times count. */
    public LockSpec asWaitSet(LockName waitSet) {
        return of(waitSet, 1, 0, options);
    }

    /** The same for a member of a multi-lock until it has all its members: its loss concerns nobody yet. */
    public LockSpec ofMember() {
        return new LockSpec(name, permits, limit, options, label, ofSemaphore, true);
    }

    /** The same while other members are waited for: renewed for as long as it is held. */
    public LockSpec renewedWithoutEnd() {
        return new LockSpec(name, permits, limit, options.withAutoRenew(true), label, ofSemaphore, true);
    }

    /** The read lock that a write lock is downgraded to. */
    public LockSpec asRead() {
        return new LockSpec(name, 1, limit, options, label, ofSemaphore, member);
    }

    /**
     * To be called if the name is in use.
     *
     * @param inUse the limit of those who hold or wait
     * @throws LockConflictException if it is another one than that of this
     */
    public void requireLimit(int inUse) {
        if (inUse != limit) {
            KindConflictException conflict = new KindConflictException(name, limit, inUse);
            throw new LockConflictException(String.valueOf(conflict.getMessage()), conflict);
        }
    }

    // ---- the options, as far as they are in force ----

    public Duration lease() {
        return options.lease();
    }

    public boolean autoRenew() {
        return options.autoRenew();
    }

    /** The longest hold in nanoseconds; {@link Nanos#NEVER} if there is none. */
    public long maxHold() {
        return member ? Nanos.NEVER : options.maxHold().map(Nanos::of).orElse(Nanos.NEVER);
    }

    public boolean fair() {
        return options.fair();
    }

    public boolean spin() {
        return options.spin();
    }

    public boolean reentrant() {
        return options.reentrant();
    }

    public boolean interruptOnLoss() {
        return !member && options.interruptOnLoss();
    }

    /** How long the store may be out of reach, in nanoseconds. */
    public long storeTimeout() {
        return Nanos.of(options.storeTimeout());
    }

    public @Nullable Consumer<LossReason> onLost() {
        return member ? null : options.onLost().orElse(null);
    }

    // ---- what it is ----

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
                && autoRenew() == granted.autoRenew()
                && lease().equals(granted.lease());
    }
}
