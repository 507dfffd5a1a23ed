package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Kinds;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.LockStoreTck;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayNameGeneration;
import org.junit.jupiter.api.TestInfo;

/**
 * The store under test, its clock, and the methods in which the tests of the laws are written. Each test has a
 * store of its own and uses names that no other test uses.
 *
 * <p>The groups of tests extend each other in a chain that ends in {@link LockStoreTck}, so that every test is reported
 * under the name of the store's own test class, and can be run by that name. Nested classes would be reported as the TCK's.
 */
@DisplayNameGeneration(LawNames.class)
public abstract class StoreFixture {

    /** A lease that does not end during a test. */
    public static final Duration LONG = Duration.ofHours(1);

    /** The longest time for which a queue is filled. */
    private static final Duration MOST_FILLING = Duration.ofSeconds(5);

    /** How often an awaited condition is checked, in real time. */
    static final Duration POLL_EVERY = Duration.ofMillis(1);

    /** A machine for which a lease is too short that was doubled so often is too slow for these tests. */
    private static final int MOST_DOUBLINGS = 5;

    /** How often a call is made at most whose lease may have ended before its answer. */
    private static final int MOST_TRIES_IN_TIME = 5;

    private final String testRun = UUID.randomUUID().toString().substring(0, 8);
    private final List<LockStore> opened = new ArrayList<>();
    private ManualClock manualClock = new ManualClock(0);
    private long followedUntil;
    private int namesMade;

    private @Nullable LockStore store;

    /** Two clients. Their claims have a long lease. A test that needs a kind that the store does not serve is skipped. */
    final Claimant alice = new Claimant("alice", LONG, this::assumeKind);

    final Claimant bob = new Claimant("bob", LONG, this::assumeKind);

    /**
     * Opens the store under test. Data of earlier tests may still be in it.
     *
     * @param clock the manual clock of the test, or the system's clock if {@link #runsOnRealTime()}
     */
    protected abstract LockStore open(MonotonicClock clock);

    /**
     * Opens another handle on the data of the stores opened before by this test, as a second process or a restarted
     * one would. By default this opens the store again. The test of a store that keeps its data in the object
     * returns an empty result. The TCK closes the handle.
     */
    protected Optional<LockStore> openAnother(MonotonicClock clock) {
        return Optional.of(open(clock));
    }

    /**
     * Whether leases end by a clock that a test cannot control, such as a server's. Then the tests wait in real
     * time.
     */
    protected boolean runsOnRealTime() {
        return false;
    }

    /**
     * Opens the store under test with tickets that end soon, for a test that waits for that. All other tests should have tickets
     * that outlast them however busy the machine is. By default, and if a store has no such option, it is the store of all tests.
     */
    protected LockStore openWithBriefTickets() {
        return store();
    }

    /** From now on the store under test is one whose tickets end soon. */
    protected final void letTicketsEnd() {
        LockStore brief = openWithBriefTickets();
        if (brief != store) {
            closeLater(brief);
            store = brief;
        }
    }

    /** Lets time pass for the store. */
    protected void advance(Duration duration) {
        if (runsOnRealTime()) {
            sleep(duration);
        } else {
            manualClock.advance(duration);
        }
    }

    /**
     * Enqueues the claims of one name, as many as its queue can have. A store that writes the whole queue for each new waiter
     * overrides this and enqueues them in one step: one by one, the first tickets would end before the last claim waits.
     */
    protected void fillQueue(List<Claim> claims) {
        long start = clock().nanoTime();
        List<RecordingListener> listeners = new ArrayList<>(claims.size());
        for (int i = 0; i < claims.size(); i++) {
            RecordingListener listener = new RecordingListener();
            listeners.add(listener);
            store().enqueue(claims.get(i), listener);
            if (i % 100 == 0) {
                awaitNotified(listener, claims.get(i));
            }
            assumeFilledInTime(start);
        }
        // A server may put those that are under way together into any order, and the next claim must come after all of
        // them.
        for (int i = 0; i < claims.size(); i++) {
            awaitNotified(listeners.get(i), claims.get(i));
        }
        assumeFilledInTime(start);
    }

    private void assumeFilledInTime(long start) {
        assumeTrue(
                clock().nanoTime() - start
                        < Math.min(MOST_FILLING.toNanos(), traits().ticketTtl().toNanos() / 2),
                "it takes too long to fill the queue; another test of the store must do it");
    }

    /** How long a test waits for an expected event, in real time. */
    protected Duration patience() {
        return Duration.ofSeconds(10);
    }

    @BeforeEach
    public final void openTheStore(TestInfo test) {
        manualClock = new ManualClock(Seeds.of(test.getDisplayName()));
        followedUntil = System.nanoTime();
        store = open(clock());
        opened.add(store());
    }

    @AfterEach
    public final void closeTheStores() {
        opened.forEach(LockStore::close);
    }

    /** The clock of the store under test. */
    public final MonotonicClock clock() {
        return runsOnRealTime() ? MonotonicClock.SYSTEM : manualClock;
    }

    /**
     * The manual clock, for a test of a store whose clock can be controlled. For other stores the test is skipped.
     */
    public final ManualClock heldClock() {
        assumeTrue(!runsOnRealTime(), "the store's clock cannot be held");
        return manualClock;
    }

    /** The store under test. */
    public final LockStore store() {
        return Objects.requireNonNull(store, "the store is opened before each test");
    }

    final StoreTraits traits() {
        return store().traits();
    }

    /** Another handle on the same data. For stores that have none the test is skipped. */
    final LockStore another() {
        Optional<LockStore> handle = openAnother(clock());
        assumeTrue(handle.isPresent(), "the data live in the store object");
        LockStore other = handle.orElseThrow();
        closeLater(other);
        return other;
    }

    /** Closes a store after the test. */
    public final void closeLater(LockStore store) {
        opened.add(store);
    }

    final void assumeQueue() {
        assumeTrue(traits().fifo(), "the store has no queue");
    }

    final void assumeSeveral() {
        assumeTrue(traits().atomicSeveral(), "the store cannot take several names at once");
    }

    private void assumeKind(Claim claim) {
        assumeTrue(
                traits().kinds().serves(claim.limit()),
                () -> "the store does not serve claims with the limit " + claim.limit());
    }

    final void assumeAllKinds() {
        assumeTrue(traits().kinds() == Kinds.ALL, "the store serves some kinds only");
    }

    /**
     * Skips the test if the store grants by sessions. It is for tests in which a grant ends by its own lease while
     * its client lives, or in which a claim is used through another handle than the one that made it: a session
     * store gives a claim to one session only.
     */
    final void assumeLeases() {
        assumeTrue(traits().liveness() == Liveness.LEASE, "grants end with their client's session");
    }

    /** A name that no other test uses. */
    final LockName name() {
        return name(Integer.toString(++namesMade));
    }

    /** A name with this ending that no other test uses. */
    final LockName name(String ending) {
        return new LockName(prefix() + ending);
    }

    /** The prefix of all names of this test. */
    public final String prefix() {
        return "tck-" + testRun + "-";
    }

    /** A lease that ends soon, but not before a few calls have ended. */
    final Duration brief() {
        Duration least = runsOnRealTime() ? Duration.ofMillis(400) : Duration.ofSeconds(1);
        return LockStore.roundUp(least, traits().leaseStep());
    }

    /** Lets enough time pass that a brief lease, or any other duration, is certainly over. */
    final void outlive(Duration duration) {
        advance(LockStore.roundUp(duration.plusMillis(1), traits().leaseStep()).plus(traits().leaseStep()));
    }

    /** A lease that has to last for some calls of a test, which then goes on without it. */
    final class BriefLease {

        private final Stopwatch sinceItBegan = new Stopwatch();
        private final Duration duration;
        private boolean isNeeded = true;
        private boolean lasted;

        private BriefLease(Duration duration) {
            this.duration = duration;
        }

        Duration duration() {
            return duration;
        }

        /** Notes that the calls for which it has to last have ended. */
        void isNeededNoMore() {
            lasted = hasLasted();
            isNeeded = false;
        }

        /** The same, and lets it end. */
        void end() {
            isNeededNoMore();
            outlive(duration);
        }

        private boolean hasLasted() {
            boolean lastsStill = !runsOnRealTime() || !sinceItBegan.mayHavePassed(duration);
            return isNeeded ? lastsStill : lasted;
        }
    }

    /**
     * Runs a test with a brief lease. If the machine was so slow that the lease may have ended before the calls that need it,
     * a failure proves nothing, and the test begins anew with twice as long a lease.
     */
    final void withBriefLease(Consumer<BriefLease> test) {
        for (int doublings = 0; ; doublings++) {
            BriefLease lease = new BriefLease(brief().multipliedBy(1L << doublings));
            try {
                test.accept(lease);
                return;
            } catch (AssertionError failure) {
                if (lease.hasLasted() || doublings == MOST_DOUBLINGS) {
                    throw failure;
                }
            }
        }
    }

    /**
     * Makes a call about a lease of a moment. A store need not wait for answers when half of the lease that they are about is over,
     * as a quorum does not. So a call that fails after as long, on a slow machine, proves nothing, and is made anew.
     */
    final Granted inTime(Duration lease, Supplier<Granted> call) {
        for (int tries = 1; ; tries++) {
            Stopwatch sinceStart = new Stopwatch();
            try {
                return call.get();
            } catch (StoreException | AssertionError failure) {
                boolean isLate = runsOnRealTime() && sinceStart.mayHavePassed(lease.dividedBy(2));
                if (!isLate || tries == MOST_TRIES_IN_TIME) {
                    throw failure;
                }
            }
        }
    }

    final Granted granted(Claim claim) {
        return granted(store(), claim);
    }

    static Granted granted(LockStore store, Claim claim) {
        Attempt attempt = get(store.tryAcquire(claim));
        assertThat(attempt).as("acquiring %s", claim).isInstanceOf(Granted.class);
        return (Granted) attempt;
    }

    final Attempt.Busy busy(Claim claim) {
        return busy(store(), claim);
    }

    static Attempt.Busy busy(LockStore store, Claim claim) {
        Attempt attempt = get(store.tryAcquire(claim));
        assertThat(attempt).as("acquiring %s", claim).isInstanceOf(Attempt.Busy.class);
        return (Attempt.Busy) attempt;
    }

    /** Enqueues a claim and waits until its position in the queue, or an outcome, is reported. */
    final RecordingListener enqueued(Claim claim) {
        return enqueued(store(), claim);
    }

    final RecordingListener enqueued(LockStore store, Claim claim) {
        RecordingListener listener = new RecordingListener();
        ListenerRegistration ignored = store.enqueue(claim, listener);
        awaitNotified(listener, claim);
        return listener;
    }

    private void awaitNotified(RecordingListener listener, Claim claim) {
        await(listener::wasNotified, () -> "the listener was not notified about " + claim);
    }

    /** Enqueues a claim that must wait. */
    final RecordingListener waiting(Claim claim) {
        RecordingListener listener = enqueued(claim);
        assertThat(listener.events())
                .as("enqueuing %s", claim)
                .allMatch(RecordingListener.Event.Waiting.class::isInstance);
        return listener;
    }

    final RecordingListener.Event.Granted awaitGrant(RecordingListener listener) {
        await(() -> listener.outcome().isPresent(), () -> "a waiter was not granted: " + listener);
        assertThat(listener.outcome().orElseThrow()).isInstanceOf(RecordingListener.Event.Granted.class);
        return (RecordingListener.Event.Granted) listener.outcome().orElseThrow();
    }

    final Renewed.Reason awaitEnd(RecordingListener listener) {
        await(() -> listener.outcome().isPresent(), () -> "a waiter was not notified of its end: " + listener);
        assertThat(listener.outcome().orElseThrow()).isInstanceOf(RecordingListener.Event.Ended.class);
        return ((RecordingListener.Event.Ended) listener.outcome().orElseThrow()).reason();
    }

    final Renewed renewed(Claim claim) {
        return get(store().renew(List.of(claim))).get(0);
    }

    final Granted held(Claim claim) {
        Renewed renewed = renewed(claim);
        assertThat(renewed).as("renewing %s", claim).isInstanceOf(Granted.class);
        return (Granted) renewed;
    }

    final Renewed.Reason gone(Claim claim) {
        Renewed renewed = renewed(claim);
        assertThat(renewed).as("renewing %s", claim).isInstanceOf(Renewed.Gone.class);
        return ((Renewed.Gone) renewed).reason();
    }

    final int position(Claim claim) {
        Renewed renewed = renewed(claim);
        assertThat(renewed).as("refreshing %s", claim).isInstanceOf(Renewed.Waiting.class);
        return ((Renewed.Waiting) renewed).position();
    }

    final boolean released(Claim claim) {
        return get(store().release(claim)).wasOwner();
    }

    /** The state that the store reports for a name; empty if the name is not in use. */
    final Optional<ResourceState> inspected(LockName name) {
        return get(store().inspect(name)).filter(ResourceState::isInUse);
    }

    final List<Claim> holders(LockName name) {
        return inspected(name).stream()
                .flatMap(state -> state.holders().stream())
                .map(ResourceState.Entry::claim)
                .toList();
    }

    final List<Claim> waiters(LockName name) {
        return inspected(name).stream()
                .flatMap(state -> state.waiters().stream())
                .map(ResourceState.Entry::claim)
                .toList();
    }

    /** Waits for the value of a stage. If the stage fails, its exception is thrown. */
    public static <T> T get(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
        } catch (ExecutionException failure) {
            if (failure.getCause() instanceof StoreException cause) {
                throw cause;
            }
            throw new AssertionError("A stage fails with a StoreException only", failure.getCause());
        } catch (TimeoutException | InterruptedException failure) {
            throw new AssertionError("A call did not end", failure);
        }
    }

    /** Waits for the exception with which a stage fails. */
    public static StoreException failure(CompletionStage<?> stage) {
        try {
            Object value = get(stage);
            return fail("a call should have failed, but gave " + value);
        } catch (StoreException failure) {
            return failure;
        }
    }

    /** Waits in real time. A manual clock follows real time, for stores that poll by their clock. */
    final void await(BooleanSupplier condition, Supplier<String> otherwise) {
        long deadline = System.nanoTime() + patience().toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError(otherwise.get() + " within " + patience());
            }
            breathe();
        }
    }

    /** Gives other threads, and a store that polls, a moment of time. */
    final void breathe() {
        breathe(POLL_EVERY);
    }

    final void breathe(Duration pause) {
        LockSupport.parkNanos(this, pause.toNanos());
        if (!runsOnRealTime() && !traits().push()) {
            followRealTime(pause);
        }
    }

    // All waiting threads together advance the clock no faster than real time, because otherwise leases would end
    // while they wait.
    private synchronized void followRealTime(Duration most) {
        long now = System.nanoTime();
        long passed = Math.min(now - followedUntil, most.toNanos());
        followedUntil = now;
        manualClock.advance(Duration.ofNanos(Math.max(0, passed)));
    }

    private static void sleep(Duration duration) {
        try {
            Thread.sleep(duration.toMillis() + 1);
        } catch (InterruptedException interrupted) {
            throw new AssertionError("A test was interrupted while it waited", interrupted);
        }
    }
}
