package dev.holdfast.spi;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * A shared store that grants claims. This interface is all that a backend implements; the engine does the rest:
 * queues of threads, re-entry, waiting, retries, renewal, loss and events.
 *
 * <h2>Contract</h2>
 *
 * A store is thread-safe. It never retries, never renews by itself and never compares two clients' clocks. It obeys
 * the laws of {@code docs/guarantees.md}; the TCK ({@code LockStoreTck} of the testkit) has a group of tests for
 * each law.
 *
 * <p>A stage that is returned here fails with a {@link StoreException} only. A store whose client blocks works on
 * the calling thread when that is a platform thread and returns a completed stage; it moves calls from virtual
 * threads to an executor of its own ({@link dev.holdfast.store.BlockingCalls} does that). No call takes longer than
 * {@link StoreTraits#callTimeout()}.
 *
 * <p>A call may arrive with the thread's interrupt flag set. The store executes it all the same and keeps the flag.
 *
 * <p>Implementing this interface, and {@link LockStoreProvider} for a URL scheme, is the only supported way to extend
 * Holdfast to another store.
 */
public interface LockStore extends AutoCloseable {

    /** The maximum number of claims of one {@link #tryAcquireAll}. */
    int MAX_SEVERAL = 64;

    /** The maximum number of waiters of one name. A further waiter is refused. */
    int MAX_QUEUE = 10_000;

    /** The maximum number of claims of one {@link #renew}. */
    int MAX_BATCH = 10_000;

    /** The maximum number of names that {@link #list} returns. */
    int MAX_LIST = 10_000;

    /** Constant facts about this store. */
    StoreTraits traits();

    /**
     * Takes the grant now or not at all. An id that holds already gets the same grant and token again. If the claim
     * asks for fewer permits than it holds, the grant shrinks to them at once and keeps its token (a downgrade); if
     * it asks for more, it is refused. A claim does not overtake claims that wait.
     *
     * @return {@link Granted} or {@link Attempt.Busy}; fails with {@link KindConflictException} if the name is in
     *     use as another kind
     */
    CompletionStage<Attempt> tryAcquire(Claim claim);

    /**
     * Takes several grants now, all or none. The claims name different resources.
     *
     * @param claims 1 to {@value #MAX_SEVERAL} claims
     * @return a {@code Granted} for each claim in the same order, or a list that has a {@code Busy} and no {@code Granted}
     * @throws UnsupportedOperationException unless {@link StoreTraits#atomicSeveral()}
     */
    default CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        throw new UnsupportedOperationException(traits().product() + " cannot take several names at once");
    }

    /**
     * Takes the grant now, with one round trip if no claim uses the name, or enters the store's queue, which may need
     * further ones: a store may first have to subscribe to its notifications. A repeated enqueue keeps the position in
     * the queue.
     *
     * @param claim the claim
     * @param listener is notified of the outcome of the claim
     * @return a handle that removes the listener
     * @throws UnsupportedOperationException unless {@link StoreTraits#fifo()}
     */
    default ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        throw new UnsupportedOperationException(traits().product() + " has no queue");
    }

    /**
     * Takes the grant as one node of a quorum: like {@link #tryAcquire}, but the caller has a say in the counter, so
     * that several independent stores can agree on one, and the answer says since when the store has kept its data.
     *
     * <p>A new grant gets the counter {@code max(last + 1, counter)}, where the caller's counter is first brought to
     * within {@link NodeAttempt#CLOCK_TOLERANCE} of the store's own wall clock in microseconds. So a caller whose clock is
     * wrong cannot lead the counters away from the time, and counters keep growing after a loss of data as far as the
     * stores' clocks agree.
     *
     * @param counter the counter that the caller would like; with {@code raise}, one that some node of the quorum has
     *     given to this claim
     * @param raise whether the claim's counter must be at least {@code counter}: it is then taken as it is, and a
     *     grant that this store holds already, with its name's last counter, is raised to it
     * @throws UnsupportedOperationException if {@link StoreTraits#node()} is {@link StoreTraits.NodeRole#NONE}
     */
    default CompletionStage<NodeAttempt> tryAcquireAsNode(Claim claim, long counter, boolean raise) {
        throw new UnsupportedOperationException(traits().product() + " cannot be a node of a quorum");
    }

    /**
     * Renews claims that hold and refreshes the tickets of claims that wait, in one batch. A held claim then ends
     * no earlier than before, and not before one lease from now. A claim whose time is over is not revived.
     *
     * @param claims at most {@value #MAX_BATCH}
     * @return one answer for each claim, in the order in which the collection gives them; a store that could renew
     *     only some of them answers {@link Renewed.Failed} for the others
     */
    CompletionStage<List<Renewed>> renew(Collection<Claim> claims);

    /**
     * Ends the grant or the waiting of a claim, and grants the permits that became free to the next waiters. If the
     * claim was not found, or is marked {@link Claim#repeated()}, an acquire of it that arrives later, within its
     * lease, is refused.
     */
    CompletionStage<Released> release(Claim claim);

    /**
     * Asks for a hint when the resource may have become free. This gives no position in the queue and no grant, and
     * a hint may never come.
     *
     * @return a handle that removes the listener; {@link ListenerRegistration#NONE} if the store has no hints
     */
    default ListenerRegistration watch(LockName name, Runnable mayBeFree) {
        return ListenerRegistration.NONE;
    }

    /**
     * Asks to be notified when a claim of this client that holds is gone: its lock was broken, or its session has ended.
     * A store that can see this without being asked saves the holder the time until its next renewal. It is no promise: a
     * report may never come, and the next renewal then finds the same.
     *
     * @return a handle that removes the listener; {@link ListenerRegistration#NONE} if the store sees no losses by itself
     */
    default ListenerRegistration watchLosses(LossListener listener) {
        return ListenerRegistration.NONE;
    }

    /** What the store knows about a resource. It is empty if nobody uses the resource and no record of it is left. */
    CompletionStage<Optional<ResourceState>> inspect(LockName name);

    /**
     * The same for a caller who needs the first of those who wait only, as a signal to a condition does. A store that asks for each
     * claim by itself overrides this, so that it takes as many requests however many wait.
     *
     * @param waiters at least so many of those who wait are shown, if there are so many; all holders are
     */
    default CompletionStage<Optional<ResourceState>> inspect(LockName name, int waiters) {
        return inspect(name);
    }

    /**
     * The names that are in use, in their natural order.
     *
     * @param prefix what the names begin with; may be empty
     * @param limit the most names to return: 1 to {@value #MAX_LIST}
     */
    CompletionStage<List<LockName>> list(String prefix, int limit);

    /**
     * Closes connections and threads. Listeners are not called any more. Claims that hold stay in the store until
     * their lease ends. Idempotent.
     */
    @Override
    void close();

    /** The lease that a store with this step grants: the same lease, rounded up to a multiple of the step. */
    static Duration roundUp(Duration lease, Duration step) {
        long stepNanos = step.toNanos();
        long steps = (lease.toNanos() + stepNanos - 1) / stepNanos;
        long rounded = steps * stepNanos;
        return rounded == lease.toNanos() ? lease : Duration.ofNanos(rounded);
    }
}
