package dev.holdfast;

import dev.holdfast.spi.Claim;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How a lock behaves. Immutable: each {@code with} method returns a changed copy. Options belong to the lock
 * object, not to the name; different objects of one name may have different options and exclude each other all the
 * same.
 */
public final class LockOptions {

    private static final LockOptions DEFAULTS = new LockOptions(new Draft());

    /** A mutable copy. It keeps each {@code with} method short and avoids a constructor with ten arguments. */
    private static final class Draft {
        private Duration lease = Duration.ofSeconds(30);
        private boolean autoRenew = true;
        private @Nullable Duration maxHold;
        private boolean fair;
        private boolean spin;
        private boolean reentrant = true;
        private boolean interruptOnLoss;
        private Duration storeTimeout = Duration.ofSeconds(10);
        private @Nullable Consumer<LossReason> onLost;

        private Draft() {}

        private Draft(LockOptions from) {
            lease = from.lease;
            autoRenew = from.autoRenew;
            maxHold = from.maxHold;
            fair = from.fair;
            spin = from.spin;
            reentrant = from.reentrant;
            interruptOnLoss = from.interruptOnLoss;
            storeTimeout = from.storeTimeout;
            onLost = from.onLost;
        }
    }

    private final Duration lease;
    private final boolean autoRenew;
    private final @Nullable Duration maxHold;
    private final boolean fair;
    private final boolean spin;
    private final boolean reentrant;
    private final boolean interruptOnLoss;
    private final Duration storeTimeout;
    private final @Nullable Consumer<LossReason> onLost;

    private LockOptions(Draft draft) {
        lease = draft.lease;
        autoRenew = draft.autoRenew;
        maxHold = draft.maxHold;
        fair = draft.fair;
        spin = draft.spin;
        reentrant = draft.reentrant;
        interruptOnLoss = draft.interruptOnLoss;
        storeTimeout = draft.storeTimeout;
        onLost = draft.onLost;
    }

    /** A lease of 30 s that is renewed for as long as the lock is held; unfair, re-entrant, a store time-out of 10 s. */
    public static LockOptions defaults() {
        return DEFAULTS;
    }

    /**
     * How long the lock stays held after its holder has died or has lost the connection to the store.
     *
     * @param lease 100 ms to 24 h; rounded up to the store's step
     * @throws IllegalArgumentException if it is out of range
     */
    public LockOptions withLease(Duration lease) {
        Draft draft = new Draft(this);
        draft.lease = Claim.checkLease(lease);
        return new LockOptions(draft);
    }

    /** Whether the lease is renewed while the lock is held, which is the default, or ends after its time. */
    public LockOptions withAutoRenew(boolean autoRenew) {
        Draft draft = new Draft(this);
        draft.autoRenew = autoRenew;
        return new LockOptions(draft);
    }

    /** A lease that is not renewed: the lock is held for at most this time. */
    public LockOptions withFixedLease(Duration lease) {
        return withLease(lease).withAutoRenew(false);
    }

    /**
     * The longest time for which one acquisition holds the lock, however often it is renewed. After this time the
     * lock is lost with {@link LossReason#EXPIRED}. Re-entry does not start this time again.
     *
     * @throws IllegalArgumentException if it is shorter than 100 ms
     */
    public LockOptions withMaxHold(Duration maxHold) {
        if (maxHold.compareTo(Claim.MIN_LEASE) < 0) {
            throw new IllegalArgumentException(
                    "maxHold must be at least " + Claim.MIN_LEASE.toMillis() + " ms, but was " + maxHold);
        }
        Draft draft = new Draft(this);
        draft.maxHold = maxHold;
        return new LockOptions(draft);
    }

    /**
     * Whether the lock is granted strictly in the order of arrival, across all threads of all processes. This
     * excludes hand-offs inside the JVM, so each acquisition costs a round trip to the store. It does not go with {@link
     * #withSpin}: a lock with both is refused with {@link IllegalArgumentException}, and a fair one with {@link
     * UnsupportedOperationException} where the store has no queue.
     */
    public LockOptions withFair(boolean fair) {
        Draft draft = new Draft(this);
        draft.fair = fair;
        return new LockOptions(draft);
    }

    /**
     * Whether waiters try again with a jittered back-off instead of queueing in the store. This is useful for many
     * short-lived names. Stores without a queue always work like this.
     */
    public LockOptions withSpin(boolean spin) {
        Draft draft = new Draft(this);
        draft.spin = spin;
        return new LockOptions(draft);
    }

    /** Whether a thread that holds the lock may take it again (the default), or is refused with a {@link LockException}. */
    public LockOptions withReentrant(boolean reentrant) {
        Draft draft = new Draft(this);
        draft.reentrant = reentrant;
        return new LockOptions(draft);
    }

    /**
     * Whether the thread that acquired the lock is interrupted when the lock is lost. A thread that has released
     * the lock is never interrupted for it.
     */
    public LockOptions withInterruptOnLoss(boolean interruptOnLoss) {
        Draft draft = new Draft(this);
        draft.interruptOnLoss = interruptOnLoss;
        return new LockOptions(draft);
    }

    /**
     * How long the store may be unreachable before a call gives up with {@link StoreUnavailableException}.
     *
     * @param storeTimeout 1 ms to 24 h
     * @throws IllegalArgumentException if it is out of range
     */
    public LockOptions withStoreTimeout(Duration storeTimeout) {
        if (storeTimeout.compareTo(Duration.ofMillis(1)) < 0 || storeTimeout.compareTo(Claim.MAX_LEASE) > 0) {
            throw new IllegalArgumentException("storeTimeout must be 1 ms to 24 h, but was " + storeTimeout);
        }
        Draft draft = new Draft(this);
        draft.storeTimeout = storeTimeout;
        return new LockOptions(draft);
    }

    /** A listener that is called once for each acquisition that is lost, on an executor of Holdfast. */
    public LockOptions withOnLost(Consumer<LossReason> onLost) {
        Draft draft = new Draft(this);
        draft.onLost = onLost;
        return new LockOptions(draft);
    }

    public Duration lease() {
        return lease;
    }

    public boolean autoRenew() {
        return autoRenew;
    }

    public Optional<Duration> maxHold() {
        return Optional.ofNullable(maxHold);
    }

    public boolean fair() {
        return fair;
    }

    public boolean spin() {
        return spin;
    }

    public boolean reentrant() {
        return reentrant;
    }

    public boolean interruptOnLoss() {
        return interruptOnLoss;
    }

    public Duration storeTimeout() {
        return storeTimeout;
    }

    public Optional<Consumer<LossReason>> onLost() {
        return Optional.ofNullable(onLost);
    }

    @Override
    public String toString() {
        return "lease " + lease + (autoRenew ? " renewed" : " fixed")
                + (maxHold == null ? "" : ", maxHold " + maxHold)
                + (fair ? ", fair" : "") + (spin ? ", spin" : "") + (reentrant ? "" : ", not re-entrant");
    }
}
