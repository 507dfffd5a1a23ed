package dev.holdfast.election;

import dev.holdfast.LockException;
import dev.holdfast.LossReason;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * One candidate in an election: of all that have started under one name in one store, at most one at a time leads.
 *
 * <pre>{@code
 * try (Election election = locks.election("billing", ElectionOptions.defaults().withId("pod-7"))) {
 *     election.run(term -> {
 *         while (term.isValid()) {
 *             bill(nextCustomer(), term.token());
 *         }
 *     });
 * }
 * }</pre>
 *
 * <p>Candidates are elected in the order in which they joined, where the store has a queue. An election is a mutex: programs that
 * take the lock of this name exclude the leader, and are excluded by him.
 *
 * <h2>Guarantees</h2>
 *
 * <ul>
 *   <li>No two terms are valid at once, under the assumptions of {@link dev.holdfast.DistributedLock}. A leader that cannot renew
 *       ends its term by its own clock, before anybody else can be elected.
 *   <li>The token of a term is larger than those of all terms before it, as far as the store's traits promise.
 *   <li>A term that has ended is over for good.
 *   <li>The listeners of one election are called one after the other, and never on a thread that renews. For each call of those
 *       of {@link #onElected} there is exactly one of those of {@link #onLost}, later, and a new term does not begin before it has
 *       returned, nor before the tasks of the old one have ended.
 *   <li>A candidate goes on trying while the store is out of reach.
 *   <li>A lock that was won goes back after one lease if the executor for callbacks has not begun the term by then.
 * </ul>
 *
 * <h2>What is not guaranteed</h2>
 *
 * A leader that was paused may act on a term that is over until it looks at it. A task that ignores its interrupt works beside the
 * next leader. Compare tokens where that does harm ({@link dev.holdfast.FenceGuard}).
 *
 * <p>Thread-safe. An election is started once, and closed once.
 */
public interface Election extends AutoCloseable {

    /** What is led. */
    String name();

    /**
     * Joins the election, and joins it again after each term, until it is closed.
     *
     * @throws IllegalStateException if it was started or closed before, or its client is closed
     */
    void start();

    /** Whether this candidate leads, by the local clock, at the moment of the call. The store is not asked. */
    default boolean isLeader() {
        return term().isPresent();
    }

    /** The present term of this candidate; empty if it does not lead, by the local clock. The store is not asked. */
    Optional<Term> term();

    /**
     * Waits until this candidate leads.
     *
     * @return empty if it does not lead in time, or is closed
     * @throws IllegalArgumentException if the time is negative
     * @throws IllegalStateException if a callback or a task of this election would wait, since the next term does not begin
     *     before it has returned
     */
    Optional<Term> awaitTerm(Duration maxWait) throws InterruptedException;

    /**
     * Registers a listener that is called when this candidate was elected. It is not called for a term that was over before its
     * turn came; no task runs in such a term either. A listener may do the leader's work; what it throws is reported to the
     * handler of its thread, and ends nothing.
     *
     * @throws IllegalStateException if the election was started before
     */
    void onElected(Consumer<Term> listener);

    /**
     * Registers a listener that is called when a term has ended, with the reason: {@link LossReason#RESIGNED} after {@link
     * #resign}, {@link LossReason#CLOSED} after {@link #close}, else why it was lost. It is called after the listeners of {@link
     * #onElected} have returned: one that is to stop work which goes on in such a listener must look at {@link Term#isValid}.
     *
     * @throws IllegalStateException if the election was started before
     */
    void onLost(Consumer<LossReason> listener);

    /**
     * Registers a listener that is called each time when the candidate could not take part for {@code storeTimeout}, because the
     * store cannot be reached or the name is in use as another kind of lock. The candidate tries again after a pause.
     *
     * @throws IllegalStateException if the election was started before
     */
    void onFailure(Consumer<LockException> listener);

    /**
     * Starts the election if that was not done, and runs the task on the calling thread whenever this candidate leads. When the
     * term ends, the thread is interrupted, and once the task has ended, the next term is waited for. If the task returns while
     * its term lasts, this candidate resigns, and the method returns.
     *
     * <p>What the task throws comes out of this method, and the candidate resigns; but for an {@code InterruptedException} after
     * the end of the term, which is taken for its answer to the interrupt. The interrupt that the end of the term has caused is
     * cleared when the task has ended. Several threads may run tasks.
     *
     * <p>After the method has returned or thrown, this candidate stands again, though no task runs: close the election if it
     * shall not. The method also returns when the election or its client is closed, and at once if that was done before.
     *
     * @throws InterruptedException if somebody else interrupts the thread
     * @throws IllegalStateException if a callback or a task of this election would wait
     */
    void run(LeaderTask task) throws InterruptedException;

    /**
     * Ends the term, if there is one, and returns at once. Listeners are notified and tasks interrupted; when all of them have
     * ended, but after one lease at the latest, the next candidate can be elected, and this one joins again behind all others; in stores
     * without a queue, 0.2 s later.
     */
    void resign();

    /**
     * Sets what this candidate proclaims. While it leads, the store knows it when the method returns, after one round trip;
     * while it waits, after the next refresh of its place.
     *
     * @throws IllegalArgumentException if it is longer than {@value ElectionOptions#MAX_PAYLOAD} characters, or has control
     *     characters
     * @throws dev.holdfast.StoreUnavailableException if the store did not answer; the next renewal brings the payload
     */
    void proclaim(String payload);

    /**
     * The leader as the store knows him, with one round trip. He may have lost his term since.
     *
     * @throws dev.holdfast.LockConflictException if the name is in use as another kind of lock
     */
    Optional<Candidate> leader();

    /**
     * The leader, if there is one, and all that wait, in their order, with one round trip. Stores without a queue show the leader
     * only.
     *
     * @throws dev.holdfast.LockConflictException if the name is in use as another kind of lock
     */
    List<Candidate> candidates();

    /**
     * Registers an observer of the leader, whether the election was started or not. It is called with the present leader at once,
     * and each time when another leader, another payload, or none is seen, until the election is closed. The store is asked
     * every {@code observeEvery}, so leaders may be missed, but never the newest; tokens never fall.
     */
    void observe(Consumer<Optional<Candidate>> observer);

    /**
     * Leaves the election: ends the term as {@link #resign} does, and waits until listeners and tasks have ended and the
     * claim was released, for one lease at the most. Called by one of them, it does not wait. A candidate that only waits gives up its place, which
     * may be seen in the store for a moment longer. Idempotent.
     */
    @Override
    void close();
}
