package dev.holdfast.internal.election;

import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.LossReason;
import dev.holdfast.election.Candidate;
import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.election.LeaderTask;
import dev.holdfast.election.Term;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.hold.Hold;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.internal.time.Uptime;
import dev.holdfast.internal.time.Wakeable;
import dev.holdfast.spi.LockName;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One candidate: its {@link Candidacy}, then its {@link ElectedTerm}, then its candidacy again.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <pre>
 *   NEW --- start ---> STARTED --- close ---> CLOSED
 *
 *   candidacy -- elected --> term lasts -- lost, resigned, closed --> term has ended -- listeners and tasks done --> candidacy
 * </pre>
 *
 * <p>A term ends in memory first, and is released in the store only when all that was to stop has stopped, or after one lease, so
 * that one who resigns hands over without an overlap. Losses come from {@link Hold#whenLost}, which no code of users can delay.
 * Everything that calls users goes through one {@link CallbackQueue}.
 */
public final class LeaderElection implements Election {

    private enum State {
        NEW,
        STARTED,
        CLOSED
    }

    /** A thread that waits for a term or for the close. */
    private static final class Waiting implements Wakeable {
        private final Thread thread = Thread.currentThread();
        private volatile boolean woken;

        @Override
        public boolean isWoken() {
            return woken;
        }
    }

    private final Engine engine;
    private final String id;
    private final LockSpec spec;
    private final ElectionOptions options;
    private final CallbackQueue callbacks;
    private final Candidacy candidacy;
    private final AtomicReference<State> state = new AtomicReference<>(State.NEW);
    private final List<Consumer<Term>> electedListeners = new CopyOnWriteArrayList<>();
    private final List<Consumer<LossReason>> lostListeners = new CopyOnWriteArrayList<>();
    private final List<Consumer<LockException>> failureListeners = new CopyOnWriteArrayList<>();
    private final Queue<Waiting> waiting = new ConcurrentLinkedQueue<>();
    private final Queue<LeaderObservation> observations = new ConcurrentLinkedQueue<>();
    private volatile String payload;
    /** The last term that was won; it may be over. Set by callbacks only. */
    private volatile @Nullable ElectedTerm term;

    @SuppressWarnings("this-escape")
    public LeaderElection(Engine engine, String name, ElectionOptions options) {
        this.engine = engine;
        this.options = options;
        this.payload = options.payload();
        this.id = options.id().isEmpty() ? engine.clientId() : options.id();
        this.spec = LockSpec.candidate(
                new LockName(name), options.lease(), options.storeTimeout(), () -> CandidateLabel.of(id, payload));
        this.callbacks = new CallbackQueue(engine.callbacks());
        this.candidacy = new Candidacy(engine, spec, options.ready(), callbacks, this::elected, this::couldNotTakePart);
    }

    @Override
    public String name() {
        return spec.name().value();
    }

    // ---- listeners ----

    @Override
    public void onElected(Consumer<Term> listener) {
        requireNew();
        electedListeners.add(listener);
    }

    @Override
    public void onLost(Consumer<LossReason> listener) {
        requireNew();
        lostListeners.add(listener);
    }

    @Override
    public void onFailure(Consumer<LockException> listener) {
        requireNew();
        failureListeners.add(listener);
    }

    private void requireNew() {
        if (state.get() != State.NEW) {
            throw new IllegalStateException("Election \"" + name() + "\" was started before: register listeners first");
        }
    }

    private static <T> void notifyAll(List<Consumer<T>> listeners, T event) {
        listeners.forEach(listener -> CallbackQueue.guard(() -> listener.accept(event)));
    }

    // ---- the way of a candidate ----

    @Override
    public void start() {
        if (!state.compareAndSet(State.NEW, State.STARTED)) {
            throw new IllegalStateException("Election \"" + name() + "\" was started or closed before");
        }
        candidacy.begin();
    }

    // A callback, as all steps of the candidacy.
    private void elected(Hold hold) {
        ElectedTerm won = new ElectedTerm(hold);
        term = won;
        hold.whenLost(reason -> over(won, reason));
        if (isClosed()) {
            // The close may have come before it could see the term.
            over(won, LossReason.CLOSED);
        }
        wakeAll();
        callbacks.run(() -> announce(won));
    }

    private void announce(ElectedTerm won) {
        if (won.isValid()) {
            won.setAnnounced();
            notifyAll(electedListeners, won);
        }
    }

    /** On any thread, which may be one that watches the time. */
    private void over(ElectedTerm ended, LossReason reason) {
        if (!ended.end(reason)) {
            return;
        }
        if (ended.hold().isOpen()) {
            // Given up, and not lost: held until nothing goes on any more. One that hangs may not keep it for ever.
            engine.losses().schedule(ended.lateRelease(), Nanos.after(engine.now(), Nanos.of(options.lease())));
        }
        callbacks.run(() -> conclude(ended));
    }

    private void conclude(ElectedTerm ended) {
        LossReason reason = ended.ended();
        if (ended.isAnnounced() && reason != null) {
            notifyAll(lostListeners, reason);
        }
        ended.setConcluded();
        leave(ended);
    }

    // Called when a listener or a task has ended: the last of them releases the hold, and joins the election again.
    private void leave(ElectedTerm ended) {
        if (ended.isDoneNow()) {
            engine.losses().remove(ended.lateRelease());
            ended.hold().releaseAsync().whenComplete((released, lost) -> {
                ended.released().complete(null);
                if (ended.ended() == LossReason.RESIGNED) {
                    candidacy.beginBehindOthers();
                } else {
                    candidacy.begin();
                }
            });
        }
    }

    private void couldNotTakePart(LockException failure) {
        if (engine.isClosed()) {
            close();
        } else {
            notifyAll(failureListeners, failure);
        }
    }

    @Override
    public void resign() {
        ElectedTerm present = term;
        if (present != null) {
            over(present, LossReason.RESIGNED);
        }
    }

    @Override
    public void close() {
        boolean isFirst = state.getAndSet(State.CLOSED) != State.CLOSED;
        // Before the stop, which calls back as well.
        boolean wasBusy = callbacks.isBusy();
        if (isFirst) {
            observations.forEach(LeaderObservation::close);
            candidacy.stop();
        }
        wakeAll();
        ElectedTerm last = term;
        if (last != null) {
            over(last, LossReason.CLOSED);
        }
        if (callbacks.isRunningHere() || (last != null && last.isTaskRunningHere())) {
            return;
        }
        // A term may be won at the moment of the close, by a callback that is under way.
        if (wasBusy) {
            engine.calls().joinQuietly(left(), Nanos.of(options.lease()));
        } else if (last != null) {
            engine.calls().joinQuietly(last.released(), Nanos.of(options.lease()));
        }
    }

    /** Completes when all callbacks of now have returned, and the term is over that they may have begun. */
    private CompletableFuture<@Nullable Void> left() {
        CompletableFuture<@Nullable Void> left = new CompletableFuture<>();
        callbacks.run(() -> {
            ElectedTerm last = term;
            if (last == null) {
                left.complete(null);
            } else {
                last.released().thenRun(() -> left.complete(null));
            }
        });
        return left;
    }

    private boolean isClosed() {
        return state.get() == State.CLOSED;
    }

    // ---- the present term ----

    @Override
    public Optional<Term> term() {
        ElectedTerm present = term;
        // One that is won at the moment of the close is over as well.
        return present != null && present.isValid() && !isClosed() ? Optional.of(present) : Optional.empty();
    }

    @Override
    public Optional<Term> awaitTerm(Duration maxWait) throws InterruptedException {
        if (maxWait.isNegative()) {
            throw new IllegalArgumentException("A wait must not be negative, but was " + maxWait);
        }
        return Optional.ofNullable(await(Nanos.after(engine.now(), Nanos.of(maxWait))));
    }

    private @Nullable ElectedTerm await(long deadline) throws InterruptedException {
        Waiting mine = new Waiting();
        waiting.add(mine);
        try {
            while (true) {
                if (Thread.interrupted()) {
                    throw new InterruptedException("Interrupted while waiting to lead \"" + name() + "\"");
                }
                mine.woken = false;
                ElectedTerm present = term;
                if (isClosed()) {
                    return null;
                } else if (present != null && present.isValid()) {
                    return present;
                }
                long left = Nanos.until(deadline, engine.now());
                if (left == 0) {
                    return null;
                }
                requireNoCallback();
                engine.time().park(mine, Math.min(left, Uptime.LONGEST_PARK_NANOS));
            }
        } finally {
            waiting.remove(mine);
        }
    }

    private void requireNoCallback() {
        if (callbacks.isRunningHere()) {
            throw new IllegalStateException(
                    "A callback of election \"" + name() + "\" cannot wait for a term, which does"
                            + " not begin before the callback has returned: wait on another thread");
        }
    }

    private void wakeAll() {
        for (Waiting one : waiting) {
            one.woken = true;
            LockSupport.unpark(one.thread);
        }
    }

    @Override
    public void run(LeaderTask task) throws InterruptedException {
        if (state.compareAndSet(State.NEW, State.STARTED)) {
            candidacy.begin();
        }
        for (ElectedTerm won = await(Nanos.NEVER); won != null; won = await(Nanos.NEVER)) {
            if (won.beginTask() && runIn(won, task)) {
                return;
            }
        }
    }

    // Returns whether the task returned while its term lasted.
    private boolean runIn(ElectedTerm won, LeaderTask task) throws InterruptedException {
        boolean interrupted = false;
        boolean lasted = false;
        InterruptedException answer = null;
        try {
            task.lead(won);
        } catch (InterruptedException perhapsOurs) {
            answer = perhapsOurs;
        } finally {
            interrupted = won.endTask();
            lasted = won.isValid();
            if (lasted) {
                over(won, LossReason.RESIGNED);
            }
            leave(won);
        }
        if (answer != null && !interrupted) {
            throw answer;
        }
        return lasted;
    }

    // ---- what others see ----

    @Override
    public void proclaim(String newPayload) {
        payload = ElectionOptions.checkPayload(newPayload);
        ElectedTerm present = term;
        if (present == null || !present.isValid()) {
            return;
        }
        try {
            present.hold().extend(options.lease());
        } catch (LockLostException | IllegalStateException over) {
            // It does not lead any more: the next claim has the payload.
            return;
        }
    }

    @Override
    public Optional<Candidate> leader() {
        return candidates().stream().filter(Candidate::isLeader).findFirst();
    }

    @Override
    public List<Candidate> candidates() {
        return engine.inspector()
                .state(spec.name(), Nanos.of(options.storeTimeout()))
                .map(CandidateLabel::candidates)
                .orElse(List.of());
    }

    @Override
    public void observe(Consumer<Optional<Candidate>> observer) {
        LeaderObservation observation = new LeaderObservation(engine, spec.name(), options, observer);
        observations.add(observation);
        if (isClosed()) {
            observation.close();
        } else {
            observation.begin();
        }
    }

    @Override
    public String toString() {
        return "Election[" + name() + ", " + CandidateLabel.of(id, payload) + ", " + state.get() + "]";
    }
}
