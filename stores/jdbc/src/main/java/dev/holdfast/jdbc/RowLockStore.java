package dev.holdfast.jdbc;

import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.connection.ConnectionSource.Use;
import dev.holdfast.jdbc.connection.Lanes;
import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.jdbc.connection.SerialConnection.Turn;
import dev.holdfast.jdbc.connection.StoreConnections;
import dev.holdfast.jdbc.row.Companion;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.jdbc.row.HandedOver;
import dev.holdfast.jdbc.row.Joined;
import dev.holdfast.jdbc.row.LockStatements;
import dev.holdfast.jdbc.row.LockTable;
import dev.holdfast.jdbc.row.NodeMark;
import dev.holdfast.jdbc.row.RememberedNames;
import dev.holdfast.jdbc.row.RowCodec;
import dev.holdfast.jdbc.row.RowLockedException;
import dev.holdfast.jdbc.row.Transition;
import dev.holdfast.jdbc.row.Transition.Applied;
import dev.holdfast.jdbc.row.Transition.Read;
import dev.holdfast.jdbc.waiting.Turns;
import dev.holdfast.jdbc.waiting.WaitPoller;
import dev.holdfast.jdbc.waiting.WaiterNotifier;
import dev.holdfast.jdbc.waiting.WaiterRegistry;
import dev.holdfast.jdbc.waiting.WaiterRegistry.Waiter;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.spi.StoreTraits.NodeRole;
import dev.holdfast.store.BlockingCalls;
import dev.holdfast.store.Bounds;
import dev.holdfast.store.ResourceRecord;
import dev.holdfast.store.TimeLimit;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A store in the rows of a database: one row for each name, with the whole state of the lock in it. {@link
 * ResourceRecord} decides how the state changes. The database gives what a record cannot: one change at a time, and
 * one clock.
 *
 * <p>Acquiring a free lock, releasing it, and renewing all of a client's sole-held locks are one statement each.
 * Whatever also concerns other claims (a second reader, a waiter, a tombstone, a downgrade) is a read and a write of
 * the row.
 *
 * <p>Thread-safe.
 */
final class RowLockStore implements LockStore {

    /** How long one renewal may retry on locked rows, all of its rows together. */
    private static final Duration PATIENCE_OF_RENEWALS = Duration.ofMillis(500);

    private final StoreTraits traits;
    private final ConnectionSource source;
    private final Duration ticketTtl;
    private final StoreConnections connections;
    private final Lanes lanes;
    private final SerialConnection renewals;
    private final SerialConnection polls;
    /** For what looks at many rows: no call about a lock waits for it. */
    private final SerialConnection scans;

    private final BlockingCalls renewalCalls;
    private final BlockingCalls scanCalls;
    private final WaiterRegistry waiters = new WaiterRegistry();
    /** Names that had more than a sole holder: for them the one-statement paths would be tried in vain. */
    private final RememberedNames contended = new RememberedNames();
    /** Names that the last release handed over: most likely the next one will, too. */
    private final RememberedNames handedOver = new RememberedNames();
    /** Names whose row a user's transaction had locked: nothing waits for such a row a second time. */
    private final RememberedNames locked = new RememberedNames();

    private final WaitPoller poller;
    private final IdleRowCleaner idleRowCleaner;
    private final WaiterNotifier notifier;

    RowLockStore(
            Dialect dialect, ConnectionSource source, StoreOptions options, StoreWiring wiring, MonotonicClock clock) {
        this.source = source;
        this.ticketTtl = options.ticketTtl();
        this.traits = new StoreTraits(
                        dialect.product(),
                        true,
                        false,
                        true,
                        dialect.tokens(),
                        Liveness.LEASE,
                        Duration.ofNanos(1_000),
                        ticketTtl,
                        // A call may wait for a thread, for its turn, and for the pool to open a connection.
                        options.busyTimeout()
                                .multipliedBy(source.use() == Use.FOR_EVER ? 1 : 2)
                                .plus(options.callTimeout())
                                .plus(wiring.statementTimeout()))
                .withNode(dialect.canBeNode() ? NodeRole.BLOCKING : NodeRole.NONE);
        this.connections = new StoreConnections(source, dialect, ticketTtl, options.busyTimeout(), clock);
        String threads = "holdfast-" + dialect.product();
        TimeLimit turns = new TimeLimit(options.busyTimeout());
        this.lanes = new Lanes(
                wiring.lanes(), connections::another, threads + "-work", wiring.callerMayWork(), turns, clock);
        this.renewals = connections.another();
        this.polls = wiring.ownPolls() ? connections.another() : lanes.any();
        this.scans = connections.anotherForNow();
        this.renewalCalls = new BlockingCalls(threads + "-renewal", 1, wiring.callerMayWork(), turns);
        this.scanCalls = new BlockingCalls(threads + "-scan", 1, wiring.callerMayWork(), turns);
        this.poller = source.use() == Use.FOR_EVER
                ? WaitPoller.ofFile(polls, waiters, ticketTtl, clock, threads + "-poller")
                : WaitPoller.ofRows(polls, waiters, wiring.notifier(), ticketTtl, clock, threads + "-poller");
        this.idleRowCleaner = new IdleRowCleaner(connections, scans, options.keep(), threads + "-cleaner");
        this.notifier = wiring.notifier();
    }

    @Override
    public StoreTraits traits() {
        return traits;
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        return lanes.call(claim.name(), work -> {
            Applied<Attempt> applied = work.call(turn -> {
                Granted granted = acquireFree(turn, claim);
                return granted != null ? Applied.of(granted) : tryAcquire(turn, claim);
            });
            contended.saw(claim.name(), applied.contended());
            if (applied.answer() instanceof Granted) {
                locked.saw(claim.name(), false);
            }
            notifyWaiters(applied.handed(), work);
            return applied.answerOrThrow();
        });
    }

    // A lock whose row is locked by a user's transaction cannot be acquired now, so the result is Busy.
    private Applied<Attempt> tryAcquire(Turn turn, Claim claim) throws SQLException {
        try {
            return onRows(List.of(claim.name()), mayWait -> turn.further().tryAcquire(claim, mayWait, Companion.NONE));
        } catch (RowLockedException isLocked) {
            return new Applied<>(new Attempt.Busy(LockTable.PATIENCE), null, List.of(), 0, true);
        }
    }

    @Override
    public CompletionStage<NodeAttempt> tryAcquireAsNode(Claim claim, long counter, boolean raise) {
        if (traits.node() == NodeRole.NONE) {
            throw new UnsupportedOperationException(traits.product() + " cannot be a node of a quorum");
        }
        return lanes.call(claim.name(), work -> {
            Applied<NodeAttempt> applied = work.call(turn -> {
                idleRowCleaner.begin(claim.name());
                return onRows(
                        List.of(claim.name()),
                        mayWait -> turn.further()
                                .asNode(claim.name(), read -> acquireAsNode(claim, counter, raise, read), mayWait));
            });
            contended.saw(claim.name(), applied.contended());
            locked.saw(claim.name(), false);
            notifyWaiters(applied.handed(), work);
            return applied.answerOrThrow();
        });
    }

    private NodeAttempt acquireAsNode(Claim claim, long counter, boolean raise, Read read) {
        NodeMark mark = Objects.requireNonNull(read.mark());
        ResourceRecord record = read.only();
        long tolerance = RowCodec.micros(NodeAttempt.CLOCK_TOLERANCE);
        long wanted = Math.min(Math.max(counter, read.epoch() - tolerance), read.epoch() + tolerance);
        if (raise) {
            record.raise(claim.id(), counter);
        }
        Attempt attempt = record.tryAcquire(claim, read.now(), raise ? counter : wanted);
        return new NodeAttempt(attempt, mark.since(), mark.age(), traits.product() + ' ' + mark.server());
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        List<Claim> several = Bounds.several(claims);
        List<LockName> names = several.stream().map(Claim::name).toList();
        idleRowCleaner.begin(names.get(0));
        return lanes.call(names.get(0), work -> tryAcquireAll(several, names, work));
    }

    // One transaction: it reads, checks whether all claims can be granted, and writes only then. Otherwise only
    // those records that it looked at are settled.
    private List<Attempt> tryAcquireAll(List<Claim> claims, List<LockName> names, SerialConnection work) {
        Applied<List<Attempt>> tried = work.call(turn -> acquireAll(turn, claims, names));
        notifyWaiters(tried.handed(), work);
        return tried.answerOrThrow();
    }

    private Applied<List<Attempt>> acquireAll(Turn turn, List<Claim> claims, List<LockName> names) throws SQLException {
        try {
            Applied<List<Attempt>> applied = transition(turn, names, read -> acquireEach(claims, read));
            turn.table().confirm(claims);
            return applied;
        } catch (NotAll notAll) {
            // Not outside the call: there an exception that is no answer of the store says that the connection is
            // useless.
            return notAll.answer(settle(turn, names.subList(0, notAll.seen)));
        } catch (RowLockedException locked) {
            return Applied.of(List.of(new Attempt.Busy(LockTable.PATIENCE)));
        }
    }

    private List<Handed> settle(Turn turn, List<LockName> names) throws SQLException {
        try {
            return transition(turn, names, read -> {
                        read.records().values().forEach(record -> record.settle(read.now(), read.epoch()));
                        return true;
                    })
                    .handed();
        } catch (RowLockedException locked) {
            // The next client that looks at the row settles it.
            return List.of();
        }
    }

    private static List<Attempt> acquireEach(List<Claim> claims, Read read) {
        List<Attempt> attempts = new ArrayList<>(claims.size());
        for (Claim claim : claims) {
            Attempt attempt;
            try {
                attempt = read.record(claim.name()).tryAcquire(claim, read.now(), read.epoch());
            } catch (StoreException refused) {
                throw new NotAll(attempts.size() + 1, new Attempt.Busy(Duration.ZERO), refused);
            }
            if (attempt instanceof Attempt.Busy busy) {
                throw new NotAll(attempts.size() + 1, busy, null);
            }
            attempts.add(attempt);
        }
        return attempts;
    }

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        Waiter waiter = new Waiter(claim, listener, waiters);
        // The claim is registered before it is sent: then a grant that another process makes at once is a change
        // that the poller finds, and no extra check is needed.
        waiters.add(waiter);
        CompletionStage<Renewed> enqueued;
        try {
            enqueued = lanes.call(claim.name(), work -> enqueue(claim, waiter, work));
        } catch (Throwable notSent) {
            waiters.remove(waiter);
            throw notSent;
        }
        enqueued.whenComplete((answer, failure) -> {
            if (failure == null && answer instanceof Renewed.Waiting queued) {
                if (!waiter.isClosed()) {
                    listener.waiting(queued.position(), queued.retryAfter());
                }
            } else if (waiters.remove(waiter)) {
                // The thread that removes the waiter notifies its listener, so that the listener is notified once.
                notifyListener(listener, answer, failure);
            }
        });
        return waiter;
    }

    private static void notifyListener(ClaimListener listener, @Nullable Renewed answer, @Nullable Throwable failure) {
        if (failure != null) {
            listener.failed(StoreException.of(failure));
        } else if (answer instanceof Granted held) {
            listener.granted(held);
        } else if (answer instanceof Renewed.Gone gone) {
            listener.ended(gone.reason());
        }
    }

    private @Nullable Granted acquireFree(Turn turn, Claim claim) throws SQLException {
        idleRowCleaner.begin(claim.name());
        return contended.contains(claim.name()) ? null : acquireUnlocked(turn, claim);
    }

    private @Nullable Granted acquireUnlocked(Turn turn, Claim claim) throws SQLException {
        return locked.contains(claim.name()) ? null : turn.further().acquireFree(claim);
    }

    private <T> Applied<T> transition(Turn turn, List<LockName> names, Transition<T> transition) throws SQLException {
        Applied<T> applied = onRows(names, mayWait -> turn.further().transition(names, transition, mayWait));
        names.forEach(name -> locked.saw(name, false));
        return applied;
    }

    // A row that a transaction of the user's has locked is waited for once, and not again before it was
    // changed: the calls about other names on the same connection would wait as well.
    private <T> T onRows(List<LockName> names, RowCall<T> call) throws SQLException {
        try {
            return call.run(names.stream().noneMatch(locked::contains));
        } catch (RowLockedException isLocked) {
            if (names.size() == 1) { // of several, nobody knows which one
                locked.saw(names.get(0), true);
            }
            throw isLocked;
        }
    }

    /** What is done to rows, which may be locked. */
    @FunctionalInterface
    private interface RowCall<T> {
        T run(boolean mayWait) throws SQLException;
    }

    /** The answer to an enqueue, and how many releases come before the claim is granted, at the least. */
    private record Enqueued(Renewed answer, int turn) {}

    private Renewed enqueue(Claim claim, Waiter waiter, SerialConnection work) {
        Applied<Enqueued> applied = work.call(turn -> {
            idleRowCleaner.begin(claim.name());
            Optional<Applied<Enqueued>> atOnce = enqueueAtOnce(turn, claim);
            if (atOnce.isPresent()) {
                return atOnce.get();
            }
            return transition(
                    turn, List.of(claim.name()), read -> enqueue(claim, read.only(), read.now(), read.epoch()));
        });
        contended.saw(claim.name(), applied.contended());
        notifyWaiters(applied.handed(), work);
        Enqueued enqueued = applied.answerOrThrow();
        if (enqueued.answer() instanceof Renewed.Waiting) {
            waiter.refreshed(goodUntil(claim, applied.now()));
            poller.enqueued(claim.name(), enqueued.turn());
            notifier.listen(claim.id(), waiters, poller);
        }
        return enqueued.answer();
    }

    // With one statement if the lock is as this client has last seen it, free or not, and with two if it is not.
    // Clients that find at the same moment that a queue is gone need three: one of them takes the lock, and the others
    // join behind it. As transitions, each of their writes would make all others read again.
    private Optional<Applied<Enqueued>> enqueueAtOnce(Turn turn, Claim claim) throws SQLException {
        boolean isContended = contended.contains(claim.name());
        boolean canJoin = turn.table().canJoin(claim);
        Optional<Joined> joined = isContended && canJoin ? join(turn, claim) : Optional.empty();
        boolean mayBeFree = canJoin && !turn.table().transitionFollows();
        if (joined.isEmpty() && (mayBeFree || !isContended)) {
            Granted granted = acquireUnlocked(turn, claim);
            if (granted != null) {
                return Optional.of(Applied.of(new Enqueued(granted, 0)));
            }
            boolean mayHaveAQueue = !isContended || claim.isExclusive();
            joined = canJoin && mayHaveAQueue ? join(turn, claim) : Optional.empty();
        }
        return joined.map(queue -> new Applied<>(enqueued(claim, queue), null, List.of(), queue.since(), true));
    }

    private Optional<Joined> join(Turn turn, Claim claim) throws SQLException {
        return onQueue(claim.name(), () -> turn.further().join(claim));
    }

    private Optional<HandedOver> handOver(Turn turn, Claim claim) throws SQLException {
        return onQueue(claim.name(), () -> turn.further().handOver(claim));
    }

    // The two statements for a queue may wait for the row, because other clients run the same ones. If that takes too
    // long, the transition that comes next finds out at once whether they are many, or a transaction of the user's has
    // locked the row.
    private <T> Optional<T> onQueue(LockName name, QueueCall<T> call) throws SQLException {
        if (locked.contains(name)) {
            return Optional.empty();
        }
        try {
            return call.run();
        } catch (RowLockedException tooLong) {
            locked.saw(name, true);
            return Optional.empty();
        }
    }

    /** One statement on the queue of a row. */
    @FunctionalInterface
    private interface QueueCall<T> {
        Optional<T> run() throws SQLException;
    }

    private static Enqueued enqueued(Claim claim, Joined joined) {
        Turns turns = new Turns(claim.limit());
        int turn = 0;
        for (int permits : joined.permits()) {
            turn = turns.next(permits);
        }
        Duration retryAfter = RowCodec.duration(Math.max(0, joined.holderEnds() - joined.since()));
        return new Enqueued(new Renewed.Waiting(joined.permits().size() - 1, retryAfter), turn);
    }

    private static Enqueued enqueue(Claim claim, ResourceRecord record, long now, long epoch) {
        Renewed answer = record.enqueue(claim, now, epoch);
        return new Enqueued(answer, answer instanceof Renewed.Waiting ? Turns.of(claim.id(), record) : 0);
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        List<Claim> batch = Bounds.batch(claims);
        return renewalCalls.call(() -> renewAll(batch));
    }

    private List<Renewed> renewAll(List<Claim> batch) {
        if (batch.isEmpty()) {
            return List.of();
        }
        Map<ClaimId, Renewed> answers = new HashMap<>();
        List<Handed> handed = new ArrayList<>();
        try {
            renewals.call(turn -> renewAll(batch, turn, answers, handed));
        } catch (RuntimeException | Error failure) {
            if (answers.isEmpty()) {
                throw failure;
            }
            StoreException cause = StoreException.of(failure);
            batch.forEach(claim -> answers.putIfAbsent(claim.id(), new Renewed.Failed(cause)));
        }
        notifyWaiters(handed, renewals);
        answers.forEach(this::notifyIfItWaited);
        return batch.stream().map(claim -> answers.get(claim.id())).toList();
    }

    // All in one turn, so that the batch has one time limit. Answers that exist when it fails half-way are kept.
    private boolean renewAll(List<Claim> batch, Turn turn, Map<ClaimId, Renewed> answers, List<Handed> handed)
            throws SQLException {
        // Waiting for the locked rows of some claims must not use up the time of the others.
        turn.table().waitForLocked(PATIENCE_OF_RENEWALS);
        Map<LockName, List<Claim>> byName = new LinkedHashMap<>();
        batch.forEach(claim -> byName.computeIfAbsent(claim.name(), unused -> new ArrayList<>())
                .add(claim));
        List<Claim> perhapsSole = new ArrayList<>();
        byName.values().stream().filter(this::mayBeSole).forEach(perhapsSole::addAll);
        turn.table().renewSole(perhapsSole, answers);
        for (List<Claim> sharing : byName.values()) {
            if (!answers.containsKey(sharing.get(0).id())) {
                renewTogether(sharing, turn, answers, handed);
            }
        }
        return true;
    }

    private boolean mayBeSole(List<Claim> sharing) {
        return sharing.size() == 1 && !waiters.contains(sharing.get(0).id());
    }

    // For the claims of a name of which one waits, or that share its row with other holders or waiters. The row is read
    // and written once for all of them. If that fails, the other claims of the batch are not affected.
    private void renewTogether(List<Claim> sharing, Turn turn, Map<ClaimId, Renewed> answers, List<Handed> handed)
            throws SQLException {
        try {
            Optional<Joined> place = refresh(sharing, turn);
            if (place.isPresent()) {
                Claim waiting = sharing.get(0);
                answers.put(waiting.id(), enqueued(waiting, place.get()).answer());
                waiters.refreshed(waiting.id(), goodUntil(waiting, place.get().since()));
                return;
            }
            Applied<List<Renewed>> applied = transition(
                    turn,
                    List.of(sharing.get(0).name()),
                    read -> sharing.stream()
                            .map(claim -> read.only().renew(claim, read.now(), read.epoch()))
                            .toList());
            handed.addAll(applied.handed());
            List<Renewed> renewed = applied.answerOrThrow();
            for (int i = 0; i < renewed.size(); i++) {
                Claim claim = sharing.get(i);
                answers.put(claim.id(), renewed.get(i));
                if (renewed.get(i) instanceof Renewed.Waiting) {
                    waiters.refreshed(claim.id(), goodUntil(claim, applied.now()));
                }
            }
        } catch (RowLockedException isLocked) {
            failed(sharing, isLocked.toStoreException(), answers);
        } catch (StoreException failure) {
            failed(sharing, failure, answers);
        }
    }

    // As transitions, those of many clients that wait for one name would race, too.
    private Optional<Joined> refresh(List<Claim> sharing, Turn turn) throws SQLException {
        Claim first = sharing.get(0);
        return sharing.size() == 1 && waiters.contains(first.id())
                ? onQueue(first.name(), () -> turn.further().refresh(first))
                : Optional.empty();
    }

    private static void failed(List<Claim> sharing, StoreException cause, Map<ClaimId, Renewed> answers) {
        sharing.forEach(claim -> answers.put(claim.id(), new Renewed.Failed(cause)));
    }

    private void notifyIfItWaited(ClaimId id, Renewed answer) {
        if (answer instanceof Granted held) {
            waiters.granted(id, held);
        } else if (answer instanceof Renewed.Gone gone) {
            waiters.ended(id, gone.reason());
        }
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return lanes.call(claim.name(), work -> {
            Applied<Boolean> applied = work.call(turn -> release(turn, claim));
            contended.saw(claim.name(), applied.contended());
            boolean endedHere = waiters.ended(claim.id(), Renewed.Reason.RELEASED);
            poller.released(claim);
            List<Handed> elsewhere = notifyWaiters(applied.handed(), work);
            boolean found = applied.answerOrThrow();
            if (found && claim.isWaitSet() && !endedHere) {
                // A signal to a thread of another client, or a place that is left without one.
                notifier.notifyWaiters(List.of(claim.id()), work);
            }
            if (elsewhere.isEmpty()) {
                return found ? Released.ALONE : Released.NOT_OWNER;
            }
            return new Released(found, elsewhere);
        });
    }

    private Applied<Boolean> release(Turn turn, Claim claim) throws SQLException {
        boolean queued = contended.contains(claim.name());
        boolean guessed = !queued && handedOver.contains(claim.name());
        if (!queued && !guessed && turn.table().releaseSole(claim)) {
            return Applied.of(true);
        }
        if (turn.table().canHandOver(claim)) {
            Optional<HandedOver> over = handOver(turn, claim);
            handedOver.saw(claim.name(), over.isPresent());
            if (over.isPresent()) {
                return new Applied<>(
                        true, null, List.of(over.get().handed()), 0, over.get().contended());
            }
            // The queue may be empty by now.
            boolean mayBeAlone = guessed || (queued && !turn.table().transitionFollows());
            if (mayBeAlone && turn.further().releaseSole(claim)) {
                return Applied.of(true);
            }
        }
        return transition(turn, List.of(claim.name()), read -> read.only().release(claim, read.now(), read.epoch()));
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return lanes.call(name, work -> {
            Applied<Optional<ResourceState>> applied = work.call(turn ->
                    turn.table().look(name, read -> read.only().inspect(read.now(), read.epoch()), true));
            notifyWaiters(applied.handed(), work);
            return applied.answerOrThrow().filter(ResourceState::isInUse);
        });
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        Bounds.list(limit);
        return list(prefix, prefix, limit, new ArrayList<>());
    }

    // A call for each page, so that each has a time limit of its own.
    private CompletionStage<List<LockName>> list(String from, String prefix, int limit, List<LockName> found) {
        int most = limit - found.size();
        return scanCalls
                .call(() -> scans.call(turn -> turn.table().list(from, prefix, most, found)))
                .thenCompose(next -> next.isEmpty() || found.size() >= limit
                        ? CompletableFuture.completedStage(found)
                        : list(next, prefix, limit, found));
    }

    // Claims that wait in this client are notified here, the others through the database if it can push. Returns the
    // others.
    private List<Handed> notifyWaiters(List<Handed> handed, SerialConnection connection) {
        List<Handed> elsewhere = waiters.grantedAll(handed);
        if (!elsewhere.isEmpty()) {
            notifier.notifyWaiters(elsewhere.stream().map(Handed::id).toList(), connection);
        }
        return elsewhere;
    }

    /** Opens the first connection and runs a check on it. */
    void start(Starter starter) {
        lanes.any().call(turn -> {
            starter.check(turn.table().statements());
            return true;
        });
        notifier.check(lanes.any());
    }

    /** Whether the database notifies this client of grants now, so that it polls rarely. */
    boolean isNotified() {
        return notifier.isListening();
    }

    /** The check that is run on the first connection. */
    @FunctionalInterface
    interface Starter {
        void check(LockStatements statements) throws SQLException;
    }

    @Override
    public void close() {
        notifier.close();
        poller.close();
        idleRowCleaner.close();
        waiters.clear();
        renewalCalls.close();
        scanCalls.close();
        lanes.close();
        connections.close();
    }

    // A grant that is handed over lives at least until this time, so a claim that is gone earlier was released.
    private long goodUntil(Claim claim, long now) {
        return now + Math.min(RowCodec.micros(ticketTtl), RowCodec.micros(claim.lease()));
    }

    @Override
    public String toString() {
        return traits.product() + " store " + source;
    }

    /** Not all of several claims can be granted. Thrown out of the transition, so that it writes nothing. */
    private static final class NotAll extends RuntimeException {

        private static final long serialVersionUID = 1L;

        /** How many of the claims were looked at, including the one that could not be granted. */
        final int seen;

        final transient Attempt.Busy busy;
        final @Nullable StoreException refusal;

        NotAll(int seen, Attempt.Busy busy, @Nullable StoreException refusal) {
            super(null, null, false, false);
            this.seen = seen;
            this.busy = busy;
            this.refusal = refusal;
        }

        /** @param handed what was granted to others when the records were settled that were looked at */
        Applied<List<Attempt>> answer(List<Handed> handed) {
            return new Applied<>(List.of(busy), refusal, handed, 0, false);
        }
    }
}
