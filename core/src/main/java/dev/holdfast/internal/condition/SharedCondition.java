package dev.holdfast.internal.condition;

import dev.holdfast.LockConflictException;
import dev.holdfast.LockException;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import java.util.List;

/**
 * A condition that all processes share. Its wait set is a resource of the store with the limit 0: nobody is admitted, and
 * waiters are in the order in which they came.
 *
 * <p>A signal is the release of exactly the claim that was seen first in the queue. If that claim has just left, the store
 * says so, and the next one is released; so no signal is spent on one that has given up. A signal to a thread that dies
 * before it has the lock is lost; therefore nobody waits for longer than {@link #LONGEST_WAIT_NANOS} without looking
 * for itself.
 */
public final class SharedCondition extends AbstractCondition {

    /** After so long a wait ends without a signal: 30 seconds. It bounds the delay by a signal to a thread that died. */
    public static final long LONGEST_WAIT_NANOS = 30_000_000_000L;

    /** A wait without a signal lasts for at least so long. Between the two is chance, so that a crowd does not look at once. */
    public static final long SHORTEST_WAIT_NANOS = 27_000_000_000L;

    /** So many places a signal looks at first; more only if all of these were left in that moment. */
    private static final int FEW = 4;

    /** Between the name of the lock and that of the condition, in the name of the wait set. */
    private static final String SEPARATOR = "#";

    private final String name;
    private final LockSpec waitSet;

    /**
     * @throws UnsupportedOperationException if the store has no queue
     * @throws IllegalArgumentException if the names of lock and condition together are no name of a lock
     */
    public SharedCondition(Engine engine, ConditionLock lock, String name) {
        super(engine, lock);
        this.name = name;
        if (name.isEmpty() || name.contains(SEPARATOR)) {
            throw new IllegalArgumentException(
                    "The name of a condition of lock \"" + lock.spec().name()
                            + "\" must not be empty and must not contain " + SEPARATOR + ", but was \"" + name + "\"");
        }
        if (!engine.traits().fifo() || !engine.traits().kinds().serves(0)) {
            throw new UnsupportedOperationException("Lock \"" + lock.spec().name()
                    + "\" has no condition that is shared between processes: the "
                    + engine.traits().product()
                    + " store has no queue for it. newCondition() gives one for the threads of this"
                    + " JVM");
        }
        this.waitSet = lock.spec().asWaitSet(new LockName(lock.spec().name() + SEPARATOR + name));
    }

    @Override
    Place enter() {
        if (engine.isClosed()) {
            throw engine.closedException(waitSet.name());
        }
        WaitSetPlace place = new WaitSetPlace(engine, waitSet, lock.spec().name());
        try {
            place.enter(storeTimeout());
        } catch (StoreException failure) {
            throw exception("waited for", failure);
        }
        return place;
    }

    @Override
    long longestWait() {
        return SHORTEST_WAIT_NANOS + engine.time().random(LONGEST_WAIT_NANOS - SHORTEST_WAIT_NANOS);
    }

    // One pass over what was there: those who come later are not meant.
    @Override
    void wake(boolean all) {
        try {
            if (all) {
                waiters(Integer.MAX_VALUE).forEach(this::end);
            } else if (!endFirstOf(FEW)) {
                endFirstOf(Integer.MAX_VALUE);
            }
        } catch (StoreException failure) {
            throw exception("signalled", failure);
        }
    }

    /** Ends the first place that is still there; false if all that were seen have been left meanwhile. */
    private boolean endFirstOf(int most) {
        List<Claim> waiters = waiters(most);
        return waiters.isEmpty() || waiters.stream().anyMatch(this::end);
    }

    @Override
    void passOn() {
        new PassedOnSignal(engine, waitSet.name()).start();
    }

    private long storeTimeout() {
        return Nanos.after(engine.now(), waitSet.storeTimeout());
    }

    private List<Claim> waiters(int most) {
        List<Claim> waiters = new AskedCall<>(
                        engine, storeTimeout(), repeated -> engine.store().inspect(waitSet.name(), most))
                .await().map(ResourceState::waiters).orElse(List.of()).stream()
                        .map(ResourceState.Entry::claim)
                        .toList();
        for (Claim waiter : waiters) {
            if (!waiter.isWaitSet()) {
                throw new KindConflictException(waitSet.name(), 0, waiter.limit());
            }
        }
        return waiters;
    }

    // Whether it waited until now. If a reply was lost, the repeated release of one that did wait finds nothing. Then
    // one more is woken than was asked for, which is allowed.
    private boolean end(Claim seen) {
        Released released = new AskedCall<>(
                        engine, storeTimeout(), repeated -> engine.store().release(repeated ? seen.again() : seen))
                .await();
        engine.waitSets().ended(seen.id());
        return released.wasOwner();
    }

    private LockException exception(String what, StoreException failure) {
        String message = "Condition \"" + name + "\" of lock \"" + lock.spec().name() + "\" could not be " + what
                + " by client " + engine.clientId() + ": ";
        if (failure instanceof KindConflictException) {
            return new LockConflictException(
                    message + "its wait set is \"" + waitSet.name() + "\", and " + failure.getMessage(), failure);
        }
        return new StoreUnavailableException(
                message + "the " + engine.traits().product() + " store failed: " + failure.getMessage()
                        + " (storeTimeout "
                        + waitSet.storeTimeout() / 1_000_000
                        + " ms). The lock is still held. Check that the store runs and can be reached",
                failure);
    }

    @Override
    public String toString() {
        return "condition \"" + name + "\" of lock \"" + lock.spec().name() + "\"";
    }
}
