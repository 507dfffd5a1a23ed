package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Engines;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockObserver;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.internal.Callbacks;
import dev.holdfast.testkit.WrappedClock;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import jdk.jfr.Recording;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests that what users throw changes nothing, even if the program's handler of uncaught exceptions throws as well. */
class FailingUserCodeTest extends EngineFixture {

    private static final Duration SHORT = Duration.ofSeconds(1);
    private static final int MORE_THAN_CALLBACK_THREADS = 70;

    private final CountDownLatch mayEnd = new CountDownLatch(1);
    private final List<String> events = new CopyOnWriteArrayList<>();

    private final Holdfast observed = client(Holdfast.builder().store(memory).observer(new LockObserver() {
        @Override
        public void acquireEnded(String name, Outcome outcome, Duration waited) {
            throw new IllegalStateException("The observer throws");
        }

        @Override
        public void lost(String name, LossReason reason) {
            events.add(name);
            throw new IllegalStateException("The observer throws");
        }
    }));

    private final Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();

    @BeforeEach
    void throwInTheHandler() {
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> {
            throw new IllegalStateException("The handler throws, too", failure);
        });
    }

    @AfterEach
    void restoreTheHandler() {
        mayEnd.countDown();
        Thread.setDefaultUncaughtExceptionHandler(before);
    }

    /** Afterwards as many listeners block as there are threads for them. */
    @Test
    void aListenerThatThrowsDelaysNoLoss() {
        CountDownLatch thrown = new CountDownLatch(1);
        LockOptions options = LockOptions.defaults().withFixedLease(SHORT);
        LockOptions throwing = options.withOnLost(reason -> {
            thrown.countDown();
            throw new IllegalStateException("The listener throws");
        });
        a.run(locks.lock("throws", throwing)::lock);
        clock.advance(SHORT);
        Wait.until("the listener has thrown", () -> thrown.getCount() == 0);

        LockOptions blocking = options.withOnLost(reason -> Wait.until("it may end", () -> mayEnd.getCount() == 0));
        for (int i = 0; i < MORE_THAN_CALLBACK_THREADS; i++) {
            a.run(locks.lock("blocks" + i, blocking)::lock);
        }
        clock.advance(SHORT);
        a.run(locks.lock("after", LockOptions.defaults().withMaxHold(SHORT))::lock);
        clock.advance(SHORT);
        awaitUnused("after");
    }

    @Test
    void anExecutorThatThrowsKeepsNoCallFromItsEnd() {
        Holdfast mine = client(Holdfast.builder().store(memory).callbacks(task -> {
            throw new IllegalStateException("The executor throws");
        }));
        Lease lease = Actor.end(mine.lock("future").acquireAsync());
        List<LossReason> reasons = new CopyOnWriteArrayList<>();
        lease.onLost(reasons::add);
        Standing standing = new Standing(mine, "election", "one").start();
        Wait.until("the listener of the election is called", () -> standing.has("elected"));
        rival.lock("future").forceRelease();
        rival.lock("election").forceRelease();
        pass(Standing.LEASE);
        Wait.until("both losses are reported", () -> !reasons.isEmpty() && standing.events.contains("BROKEN"));
        awaitCallbacks(mine);
        assertThat(reasons).containsExactly(LossReason.BROKEN);
        standing.election.close();
    }

    /** An executor that runs the code on the calling thread throws what the code throws. */
    @Test
    void aListenerThatThrowsAsIfItWereRefusedIsCalledOnce() {
        Holdfast mine = client(Holdfast.builder().store(memory).callbacks(Runnable::run));
        AtomicInteger calls = new AtomicInteger();
        LockOptions refusing = LockOptions.defaults().withFixedLease(SHORT).withOnLost(reason -> {
            calls.incrementAndGet();
            throw new RejectedExecutionException("The listener's own executor is shut down");
        });
        a.run(mine.lock("once", refusing)::lock);
        clock.advance(SHORT);
        Wait.until("the listener was called", () -> calls.get() > 0);
        awaitCallbacks(mine);
        assertThat(calls).hasValue(1);
    }

    /** A client for which there is no memory now and then: its clock stands for whatever may fail then. */
    private Holdfast failingAt(BooleanSupplier moment) {
        return Holdfast.builder()
                .store(memory)
                .clock(new WrappedClock(clock) {
                    @Override
                    public long nanoTime() {
                        if (moment.getAsBoolean()) {
                            throw new OutOfMemoryError("for a test");
                        }
                        return super.nanoTime();
                    }
                })
                .connect();
    }

    /** The error comes when one name is held and the next one is to be waited for. */
    @Test
    void anErrorBetweenTwoNamesOfAMultiLockLeavesNoneHeld() {
        AtomicBoolean fails = new AtomicBoolean(true);
        Holdfast failing = failingAt(() -> fails.get()
                && StackWalker.getInstance()
                        .walk(frames ->
                                frames.anyMatch(frame -> frame.getMethodName().equals("memberEnded"))));
        DistributedLock both = failing.multiLock("one", "two");
        c.run(rival.lock("two")::lock);
        assertThat(Actor.failure(LockException.class, a.begin(both::lock)))
                .hasRootCauseInstanceOf(OutOfMemoryError.class);
        assertThat(Actor.failure(LockException.class, both.acquireAsync()))
                .hasRootCauseInstanceOf(OutOfMemoryError.class);
        awaitUnused("one");
        assertThat(a.get(failing.lock("one")::holdCount)).isZero();
        fails.set(false);
        c.run(rival.lock("two")::unlock);
        a.run(both::lock);
        a.run(both::unlock);
        failing.close();
        awaitUnused("two");
    }

    /** While a thread takes its place among those who wait. */
    @Test
    void anErrorAtTheBeginningOfAWaitLeavesNobodyWaiting() {
        AtomicInteger looks = new AtomicInteger(Integer.MAX_VALUE);
        ThreadLocal<Boolean> fails = ThreadLocal.withInitial(() -> false);
        Holdfast failing = failingAt(() -> fails.get() && looks.decrementAndGet() == 0);
        DistributedLock lock = failing.lock("held");
        c.run(rival.lock("held")::lock);
        // One look at the clock more each time, until the wait has begun.
        for (int look = 1; look <= 2; look++) {
            int at = look;
            a.run(() -> fails.set(true));
            looks.set(at);
            Actor.failure(OutOfMemoryError.class, a.begin(lock::lock));
        }
        CompletableFuture<Void> waiting = b.parkIn(lock::lock);
        c.run(rival.lock("held")::unlock);
        Actor.end(waiting);
        b.run(lock::unlock);
        failing.close();
        awaitUnused("held");
    }

    @Test
    void anEventThatTheFlightRecorderCannotTakeDoesNotStopThoseThatFollow() {
        try (Recording recording = new Recording()) {
            recording.enable("dev.holdfast.*");
            recording.start();
            Callbacks callbacks = Engines.of(locks).callbacks();
            callbacks.observe(recorder -> {
                throw new OutOfMemoryError("for a test");
            });
            callbacks.observe(recorder -> events.add("next"));
            Wait.until("the next one is delivered", () -> events.contains("next"));
        }
        awaitCallbacks(locks);
    }

    @Test
    void anObserverThatThrowsIsNotifiedOfWhatFollows() {
        DistributedLock one = observed.lock("one", LockOptions.defaults().withFixedLease(SHORT));
        DistributedLock two = observed.lock("two", LockOptions.defaults().withFixedLease(SHORT));
        a.run(one::lock);
        clock.advance(SHORT);
        Wait.until("the first loss is reported", () -> events.contains("one"));
        a.run(two::lock);
        clock.advance(SHORT);
        Wait.until("the second loss is reported", () -> events.contains("two"));
    }

    @Test
    void anObserverThatThrowsFailsNoLock() {
        CompletableFuture<Void> locking = a.begin(observed.lock("seen")::lock);
        Actor.end(locking);
        assertThat(holders("seen")).isEqualTo(1);
        a.run(observed.lock("seen")::unlock);
    }
}
