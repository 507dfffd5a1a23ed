package dev.holdfast.internal.election;

import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.LossReason;
import dev.holdfast.election.Candidate;
import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.election.LeaderTask;
import dev.holdfast.election.Term;
import dev.holdfast.internal.ClosesFirst;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.hold.Hold;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.internal.time.Uptime;
import dev.holdfast.internal.time.Wakeable;
import dev.holdfast.spi.LockName;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
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
public final class LeaderElection implements Election, ClosesFirst {

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
        electedListeners.add(Objects.requireNonNull(listener, "listener"));
    }

    @Override
    public void onLost(Consumer<LossReason> listener) {
        requireNew();
        lostListeners.add(Objects.requireNonNull(listener, "listener"));
    }

    @Override
    public void onFailure(Consumer<LockException> listener) {
        requireNew();
        failureListeners.add(Objects.requireNonNull(listener, "listener"));
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
        if (engine.isClosed()) {
            throw new IllegalStateException(
                    "Election \"" + name() + "\" cannot be started: its Holdfast client is closed");
        }
        if (!state.compareAndSet(State.NEW, State.STARTED)) {
            throw new IllegalStateException("Election \"" + name() + "\" was started or closed before");
        }
        begin();
    }

    private void begin() {
        closeWithClient();
        candidacy.begin();
    }

    private void closeWithClient() {
        engine.closeFirst(this);
        if (isClosed()) {
            // Another thread has closed it meanwhile, and has not seen it among those of the engine.
            engine.closesAlone(this);
        }
    }

    // A callback, as all steps of the candidacy.
    private void elected(Hold hold) {
        ElectedTerm won = new ElectedTerm(hold);
        if (won.isValid() && !isClosed()) {
            // Before a thread can see the term: its task may end it at once.
            won.setAnnounced();
        }
        term = won;
        hold.whenLost(reason -> over(won, reason));
        if (isClosed()) {
            // The close may have come before it could see the term.
            over(won, LossReason.CLOSED);
        }
        wakeAll();
        // In the same callback: an executor that takes long to run another one would hold back what the term is for.
        if (won.isAnnounced()) {
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
        engine.calls().joinQuietly(leave(), Nanos.of(options.lease()));
    }

    /** Begins to close; complete at once if a callback or a task calls, which would wait for itself. */
    @Override
    public CompletableFuture<@Nullable Void> leave() {
        boolean isFirst = state.getAndSet(State.CLOSED) != State.CLOSED;
        if (isFirst) {
            observations.forEach(LeaderObservation::close);
            candidacy.stop();
        }
        // Only a callback that has begun by now may begin a term, or another attempt.
        boolean wasBusy = callbacks.isBusy();
        wakeAll();
        ElectedTerm last = term;
        if (last != null) {
            over(last, LossReason.CLOSED);
        }
        CompletableFuture<@Nullable Void> left = left(wasBusy);
        left.thenRun(() -> engine.closesAlone(this));
        boolean isWithin = callbacks.isRunningHere() || (last != null && last.isTaskRunningHere());
        return isWithin ? CompletableFuture.completedFuture(null) : left;
    }

    // A term may be won at the moment of the close: by a callback that is under way, or by an attempt before its
    // callback.
    private CompletableFuture<@Nullable Void> left(boolean wasBusy) {
        CompletableFuture<@Nullable Void> now = CompletableFuture.completedFuture(null);
        return (wasBusy ? callbacks.drained() : now)
                .thenCompose(none -> candidacy.attempt())
                .thenCompose(won -> won ? callbacks.drained() : now)
                .thenCompose(none -> {
                    ElectedTerm last = term;
                    return last == null ? now : last.released();
                });
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
        if (state.get() == State.NEW) {
            // Its close ends the wait. One that was started is registered until it has ended.
            closeWithClient();
        }
        Waiting mine = new Waiting();
        waiting.add(mine);
        try {
            while (true) {
                if (Thread.interrupted()) {
                    throw new InterruptedException("Interrupted while waiting to lead \"" + name() + "\"");
                }
                mine.woken = false;
                ElectedTerm present = term;
                if (isClosed() || engine.isClosed()) {
                    return null;
                } else if (present != null && present.isValid()) {
                    return present;
                }
                long left = Nanos.until(deadline, engine.now());
                if (left == 0) {
                    return null;
                }
                requireOutside(present);
                engine.time().park(mine, Math.min(left, Uptime.LONGEST_PARK_NANOS));
            }
        } finally {
            waiting.remove(mine);
        }
    }

    private void requireOutside(@Nullable ElectedTerm last) {
        boolean isTask = last != null && last.isTaskRunningHere();
        if (isTask || callbacks.isRunningHere()) {
            String who = isTask ? "task" : "callback";
            throw new IllegalStateException(
                    "A " + who + " of election \"" + name() + "\" cannot wait for a term, which does"
                            + " not begin before the " + who + " has returned: wait on another thread");
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
        Objects.requireNonNull(task, "task"); // before it joins, so that it does not lead first
        if (state.compareAndSet(State.NEW, State.STARTED)) {
            begin();
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
                .map(state -> {
                    spec.requireLimit(state.limit());
                    return CandidateLabel.candidates(state);
                })
                .orElse(List.of());
    }

    @Override
    public void observe(Consumer<Optional<Candidate>> observer) {
        LeaderObservation observation =
                new LeaderObservation(engine, spec.name(), options, Objects.requireNonNull(observer, "observer"));
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
