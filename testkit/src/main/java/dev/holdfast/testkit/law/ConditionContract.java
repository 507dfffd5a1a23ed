package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.LockLostException;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.OtherEnd;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Tests of the conditions that processes share, with the real engine and two clients on two handles of the store. What the
 * engine adds is tested elsewhere; this shows that wait sets of the store are what it needs.
 *
 * <p>A wait without a signal ends after 30 seconds, which is longer than any test waits: so a lost signal fails the test.
 */
@SuppressWarnings("WaitNotInLoop") // what is tested is a single wait
abstract class ConditionContract extends NodeContract {

    /** What {@link DistributedLock#condition} says. */
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(30);

    private static final int ITEMS = 20;
    private static final int CAPACITY = 2;
    private static final int ROUNDS = 8;
    private static final int REFRESHES_OF_A_TICKET = 5;
    private static final Duration STEP = Duration.ofMillis(1);

    /** A thread that waits for so long waits for a signal, and for no request: these take 10 seconds at most. */
    private static final Duration LONGER_THAN_A_REQUEST = Duration.ofSeconds(15);

    /** Of a wait that ends by itself: longer than that, and shorter than one without a limit. */
    private static final Duration LIMIT = Duration.ofSeconds(26);

    private final List<Holdfast> clients = new ArrayList<>();
    private final List<CompletableFuture<?>> threads = new ArrayList<>();
    private final AtomicBoolean ended = new AtomicBoolean();

    /** The lock and the condition of one client. */
    private record Side(DistributedLock lock, Condition condition) {}

    @AfterEach
    final void closeClients() {
        ended.set(true);
        clients.forEach(Holdfast::close);
        threads.forEach(thread -> thread.handle((value, failure) -> value).join());
    }

    private List<Side> twoSides(LockName name) {
        return twoSides(name, MonotonicClock.SYSTEM);
    }

    /** @param secondClock the clock of the second client, not of its store */
    private List<Side> twoSides(LockName name, MonotonicClock secondClock) {
        assumeQueue();
        assumeAllKinds();
        LockStore other = openAnother(clock()).orElse(null);
        if (other != null) {
            closeLater(other);
        }
        return List.of(
                side(store(), name, MonotonicClock.SYSTEM), side(other == null ? store() : other, name, secondClock));
    }

    private Side side(LockStore over, LockName name, MonotonicClock clock) {
        Holdfast client = Holdfast.builder().store(over).clock(clock).connect();
        clients.add(client);
        DistributedLock lock = client.lock(name.value());
        return new Side(lock, lock.condition("c"));
    }

    private <T> CompletableFuture<T> thread(String threadName, Callable<T> task) {
        CompletableFuture<T> result = new CompletableFuture<>();
        threads.add(result);
        Thread thread = new Thread(
                () -> {
                    try {
                        result.complete(task.call());
                    } catch (Throwable failure) {
                        result.completeExceptionally(failure);
                    }
                },
                threadName);
        thread.setDaemon(true);
        thread.start();
        return result;
    }

    private CompletableFuture<Long> waiting(Side side, int alreadyWaiting) {
        LockName waitSet = waitSet(side);
        CompletableFuture<Long> woken = thread("waiter", () -> awaitSignal(side));
        await(() -> waiters(waitSet).size() > alreadyWaiting, () -> "a thread did not enter the wait set");
        return woken;
    }

    private static long awaitSignal(Side side) throws Exception {
        return locked(side, () -> {
            side.condition().await();
            return side.lock().token();
        });
    }

    private static <T> T locked(Side side, Callable<T> task) throws Exception {
        side.lock().lock();
        try {
            return task.call();
        } finally {
            side.lock().unlock();
        }
    }

    private static LockName waitSet(Side side) {
        return new LockName(side.lock().name() + "#c");
    }

    // On a thread of its own, because a store that polls by a manual clock needs a thread that advances it.
    private void signal(Side side) {
        end(thread(
                "signaller",
                () -> locked(side, () -> {
                    side.condition().signal();
                    return true;
                })));
    }

    private <T> T end(CompletableFuture<T> thread) {
        await(thread::isDone, () -> "a thread was not woken");
        return thread.join();
    }

    @Test
    public final void signalsWakeInTheOrderOfWaiting() {
        List<Side> sides = twoSides(name());
        List<CompletableFuture<Long>> waiting = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            waiting.add(waiting(sides.get(i % 2), i));
        }
        long last = 0;
        for (int i = 0; i < 4; i++) {
            signal(sides.get(0));
            long token = end(waiting.get(i));
            assertThat(token).isGreaterThan(last);
            last = token;
            assertThat(waiting.stream().filter(CompletableFuture::isDone)).hasSize(i + 1);
        }
        assertThat(inspected(waitSet(sides.get(0)))).isEmpty();
    }

    @Test
    public final void firstPlacesAreShownToASignal() {
        assumeQueue();
        assumeAllKinds();
        LockName waitSet = name();
        List<Claim> places = List.of(alice.waitSet(waitSet), bob.waitSet(waitSet), alice.waitSet(waitSet));
        places.forEach(this::waiting);
        ResourceState state = get(store().inspect(waitSet, 2)).orElseThrow();
        assertThat(state.limit()).isZero();
        assertThat(state.holders()).isEmpty();
        assertThat(state.waiters())
                .extracting(entry -> entry.claim().id())
                .startsWith(places.get(0).id(), places.get(1).id());
    }

    @Test
    public final void signalAllWakesAllOfBothClients() {
        List<Side> sides = twoSides(name());
        List<CompletableFuture<Long>> waiting = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            waiting.add(waiting(sides.get(i % 2), i));
        }
        Side side = sides.get(1);
        end(thread(
                "signaller",
                () -> locked(side, () -> {
                    side.condition().signalAll();
                    return true;
                })));
        assertThat(waiting.stream().map(this::end)).doesNotHaveDuplicates();
        assertThat(inspected(waitSet(side))).isEmpty();
    }

    @Test
    public final void signalAllDoesNotWakeThoseWhoComeLater() {
        List<Side> sides = twoSides(name());
        Side side = sides.get(0);
        CompletableFuture<Long> early = waiting(sides.get(1), 0);
        end(thread(
                "signaller",
                () -> locked(side, () -> {
                    side.condition().signalAll();
                    side.condition().signalAll();
                    return true;
                })));
        end(early);
        CompletableFuture<Long> late = waiting(sides.get(1), 0);
        assertThat(late).isNotDone();
        signal(side);
        end(late);
    }

    @Test
    public final void waitComesBackWithALargerTokenAndAllHolds() {
        List<Side> sides = twoSides(name());
        Side side = sides.get(0);
        CompletableFuture<Boolean> larger = thread(
                "waiter",
                () -> locked(
                        side,
                        () -> locked(side, () -> {
                            long before = side.lock().token();
                            side.condition().await();
                            assertThat(side.lock().holdCount()).isEqualTo(2);
                            return side.lock().token() > before;
                        })));
        await(() -> isWaiting(waitSet(side), "waiter"), () -> "the thread does not wait");
        await(() -> holders(side).isEmpty(), () -> "the lock was not given up");
        signal(sides.get(1));
        assertThat(end(larger)).isTrue();
        assertThat(holders(side)).isEmpty();
    }

    private List<Claim> holders(Side side) {
        return holders(new LockName(side.lock().name()));
    }

    @Test
    public final void waitWhoseTimeIsOverLeavesNothingAndHasTheLock() {
        Side side = twoSides(name()).get(0);
        CompletableFuture<Boolean> timed = thread(
                "timed",
                () -> locked(side, () -> {
                    boolean signalled = side.condition().await(20, TimeUnit.MILLISECONDS);
                    assertThat(side.lock().isHeldByCurrentThread()).isTrue();
                    return signalled;
                }));
        assertThat(end(timed)).isFalse();
        assertThat(inspected(waitSet(side))).isEmpty();
    }

    @Test
    public final void interruptedWaitLeavesNothingAndHasTheLock() {
        Side side = twoSides(name()).get(0);
        CompletableFuture<Thread> waiter = new CompletableFuture<>();
        CompletableFuture<Boolean> interrupted = thread("interrupted", () -> {
            waiter.complete(Thread.currentThread());
            return locked(side, () -> {
                try {
                    side.condition().await();
                    return false;
                } catch (InterruptedException expected) {
                    return side.lock().isHeldByCurrentThread()
                            && !Thread.currentThread().isInterrupted();
                }
            });
        });
        await(() -> isWaiting(waitSet(side), "interrupted"), () -> "the thread does not wait");
        waiter.join().interrupt();
        assertThat(end(interrupted)).isTrue();
        assertThat(inspected(waitSet(side))).isEmpty();
    }

    @Test
    public final void noItemOfABoundedBufferIsLost() {
        LockName name = name();
        List<Side> sides = twoSides(name);
        ConcurrentLinkedQueue<Integer> buffer = new ConcurrentLinkedQueue<>();
        List<Integer> taken = new ArrayList<>();
        AtomicInteger made = new AtomicInteger();
        AtomicInteger moves = new AtomicInteger();
        List<CompletableFuture<?>> all = new ArrayList<>();
        for (Side side : sides) {
            Condition notFull = side.lock().condition("not full");
            Condition notEmpty = side.lock().condition("not empty");
            all.add(thread("producer", () -> {
                for (int i = 0; i < ITEMS; i++) {
                    locked(side, () -> {
                        while (buffer.size() >= CAPACITY) {
                            notFull.await();
                        }
                        buffer.add(made.incrementAndGet());
                        notEmpty.signal();
                        moves.incrementAndGet();
                        return true;
                    });
                }
                return true;
            }));
            all.add(thread("consumer", () -> {
                for (int i = 0; i < ITEMS; i++) {
                    locked(side, () -> {
                        while (buffer.isEmpty()) {
                            notEmpty.await();
                        }
                        taken.add(buffer.remove());
                        notFull.signal();
                        moves.incrementAndGet();
                        return true;
                    });
                }
                return true;
            }));
        }
        // How long all of it takes is up to the machine, so time counts only while nothing moves.
        while (!isOver(all)) {
            int before = moves.get();
            await(() -> moves.get() > before || isOver(all), () -> "nothing moves after " + before + " moves");
        }
        all.forEach(this::end);
        assertThat(taken).hasSize(2 * ITEMS).isSorted().doesNotHaveDuplicates();
    }

    private static boolean isOver(List<CompletableFuture<?>> all) {
        return all.stream().allMatch(CompletableFuture::isDone)
                || all.stream().anyMatch(CompletableFuture::isCompletedExceptionally);
    }

    /** Otherwise whoever has the lock next would signal before it is there. */
    @Test
    public final void threadEntersTheWaitSetBeforeItGivesUpTheLock() {
        List<Side> sides = twoSides(name());
        LockName lock = new LockName(sides.get(0).lock().name());
        List<List<Claim>> holders = new CopyOnWriteArrayList<>();
        LockStore looking = new ForwardingStore(store()) {
            @Override
            public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
                if (claim.isWaitSet()) {
                    holders.add(ConditionContract.this.holders(lock));
                }
                return super.enqueue(claim, listener);
            }
        };
        CompletableFuture<Long> waiting = waiting(side(looking, lock, MonotonicClock.SYSTEM), 0);
        signal(sides.get(1));
        end(waiting);
        assertThat(holders).isNotEmpty().allMatch(then -> then.size() == 1);
    }

    /** Between the look of a signal at the wait set and its release. */
    @Test
    public final void signalGoesToTheNextIfTheFirstHasJustLeft() {
        List<Side> sides = twoSides(name());
        LockName waitSet = waitSet(sides.get(0));
        Claim first = alice.waitSet(waitSet);
        waiting(first);
        CompletableFuture<Long> next = waiting(sides.get(1), 1);
        LockStore slow = new ForwardingStore(store()) {
            @Override
            public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
                return super.inspect(name)
                        .thenCompose(seen -> store().release(first).thenApply(left -> seen));
            }
        };
        signal(side(slow, new LockName(sides.get(0).lock().name()), MonotonicClock.SYSTEM));
        end(next);
    }

    /** The store knows of the signal, and the client does not, because its notification is late. */
    @Test
    public final void timeThatEndsAfterTheSignalTakesItNotAway() {
        ManualClock clock = new ManualClock(Seeds.of("late notification"));
        followRealTime(clock);
        List<Side> sides = twoSides(name());
        LockStore silent = new ForwardingStore(store()) {
            @Override
            public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
                return super.enqueue(claim, claim.isWaitSet() ? new OtherEnd(listener, late -> {}) : listener);
            }
        };
        Side side = side(silent, new LockName(sides.get(0).lock().name()), clock);
        CompletableFuture<Thread> waiter = new CompletableFuture<>();
        CompletableFuture<Boolean> timed = thread("timed", () -> {
            waiter.complete(Thread.currentThread());
            return locked(side, () -> side.condition().await(LIMIT.toNanos(), TimeUnit.NANOSECONDS));
        });
        await(() -> clock.isParked(waiter.join(), LONGER_THAN_A_REQUEST), () -> "the thread does not wait");
        signal(sides.get(1));
        clock.advance(LIMIT);
        assertThat(end(timed)).as("signalled in time").isTrue();
    }

    /** One waits for a few milliseconds, the next without a limit: one signal wakes one of them, whichever comes first. */
    @Test
    public final void signalIsNotSpentOnAWaitWhoseTimeIsOver() {
        List<Side> sides = twoSides(name());
        LockName waitSet = waitSet(sides.get(0));
        for (int round = 0; round < ROUNDS; round++) {
            Side first = sides.get(round % 2);
            int millis = 2 * round;
            CompletableFuture<Boolean> timed =
                    thread("timed", () -> locked(first, () -> first.condition().await(millis, TimeUnit.MILLISECONDS)));
            await(() -> timed.isDone() || isWaiting(waitSet, "timed"), () -> "the first does not wait");
            Side second = sides.get(0);
            CompletableFuture<Boolean> untimed = thread(
                    "untimed",
                    () -> locked(second, () -> {
                        second.condition().await();
                        return true;
                    }));
            await(() -> isWaiting(waitSet, "untimed"), () -> "the second does not wait");
            signal(sides.get(1));
            if (end(timed) && !untimed.isDone()) {
                signal(sides.get(1));
            }
            end(untimed);
        }
    }

    private boolean isWaiting(LockName waitSet, String thread) {
        return waiters(waitSet).stream()
                .anyMatch(claim -> claim.owner().thread().equals(thread));
    }

    /** One is interrupted while another process signals: one signal wakes one of two, and none is lost with the interrupt. */
    @Test
    public final void interruptedWaitTakesNoSignalWithIt() {
        List<Side> sides = twoSides(name());
        LockName waitSet = waitSet(sides.get(0));
        for (int round = 0; round < ROUNDS / 2; round++) {
            Side first = sides.get(round % 2);
            CompletableFuture<Thread> interruptible = new CompletableFuture<>();
            CompletableFuture<Boolean> interrupted = thread("interrupted", () -> {
                interruptible.complete(Thread.currentThread());
                return locked(first, () -> {
                    try {
                        first.condition().await();
                        // The signal came first. Then the interrupt is kept.
                        Thread.interrupted();
                        return true;
                    } catch (InterruptedException withTheLock) {
                        assertThat(first.lock().isHeldByCurrentThread()).isTrue();
                        return false;
                    }
                });
            });
            await(() -> isWaiting(waitSet, "interrupted"), () -> "the first does not wait");
            CompletableFuture<Long> other = thread("other", () -> awaitSignal(sides.get(0)));
            await(() -> isWaiting(waitSet, "other"), () -> "the second does not wait");
            // Beside the signal, or just after it, when the thread has perhaps not woken up yet.
            boolean after = round % 2 == 0;
            if (!after) {
                interruptible.join().interrupt();
            }
            CompletableFuture<Boolean> signalled = thread(
                    "signaller",
                    () -> locked(sides.get(1), () -> {
                        sides.get(1).condition().signal();
                        if (after) {
                            interruptible.join().interrupt();
                        }
                        return true;
                    }));
            end(signalled);
            if (end(interrupted) && !other.isDone()) {
                signal(sides.get(1));
            }
            end(other);
        }
    }

    /** The client breaks its own lock, so that it knows of the loss at once. */
    @Test
    public final void lostLockWakesNobody() {
        List<Side> sides = twoSides(name());
        CompletableFuture<Long> waiting = waiting(sides.get(0), 0);
        List<Claim> before = waiters(waitSet(sides.get(0)));
        Side side = sides.get(1);
        CompletableFuture<Integer> failures = thread("loser", () -> {
            int lost = 0;
            for (Callable<?> use : List.<Callable<?>>of(
                    () -> run(side.condition()::signal),
                    () -> run(side.condition()::signalAll),
                    () -> side.condition().await(1, TimeUnit.HOURS))) {
                side.lock().lock();
                side.lock().forceRelease();
                try {
                    use.call();
                } catch (LockLostException expected) {
                    lost++;
                }
                try {
                    side.lock().unlock();
                } catch (LockLostException expected) {
                    lost++;
                }
            }
            return lost;
        });
        assertThat(end(failures)).isEqualTo(6);
        assertThat(waiters(waitSet(side)))
                .extracting(Claim::id)
                .containsExactly(before.get(0).id());
        assertThat(waiting).isNotDone();
        signal(side);
        end(waiting);
    }

    /** Another client breaks the lock while the thread is about to wait: the wait fails, and takes no signal with it. */
    @Test
    public final void lossThatIsFoundWhenTheLockIsGivenUpEndsTheWait() {
        List<Side> sides = twoSides(name());
        Side side = sides.get(0);
        CompletableFuture<Boolean> lost = thread("loser", () -> {
            side.lock().lock();
            sides.get(1).lock().forceRelease();
            try {
                side.condition().await();
                return false;
            } catch (LockLostException expected) {
                // Where the store reports a loss by itself, it may be known before the wait begins.
                if (side.lock().holdCount() > 0) {
                    assertThatExceptionOfType(LockLostException.class).isThrownBy(side.lock()::unlock);
                }
                return side.lock().holdCount() == 0;
            }
        });
        assertThat(end(lost)).isTrue();
        assertThat(inspected(waitSet(side))).isEmpty();
        CompletableFuture<Long> next = waiting(side, 0);
        signal(sides.get(1));
        end(next);
    }

    private static boolean run(Runnable use) {
        use.run();
        return true;
    }

    @Test
    public final void deadWaiterOfAConditionTakesNoSignalWithIt() {
        assumeLeases();
        letTicketsEnd();
        List<Side> sides = twoSides(name());
        LockName waitSet = waitSet(sides.get(0));
        waiting(alice.waitSet(waitSet));
        outlive(traits().ticketTtl().plus(Duration.ofMillis(100)));
        CompletableFuture<Long> live = thread("live", () -> awaitSignal(sides.get(1)));
        await(() -> isWaiting(waitSet, "live"), () -> "the live thread does not wait");
        signal(sides.get(0));
        end(live);
    }

    /**
     * The thread that is woken dies before it has the lock. Nobody else is notified of the signal, but the next one looks for itself
     * when its wait has taken as long as a wait may. The clock of its client, which else follows real time, is advanced for
     * that; not before the thread has computed until when it waits.
     */
    @Test
    public final void signalToAThreadThatThenDiesIsDelayedAtMost() {
        ManualClock clock = new ManualClock(Seeds.of("longest wait"));
        List<Side> sides = twoSides(name(), clock);
        LockName waitSet = waitSet(sides.get(0));
        RecordingListener dying = waiting(alice.waitSet(waitSet));
        refreshLater(waiters(waitSet));
        followRealTime(clock);
        CompletableFuture<Thread> waiter = new CompletableFuture<>();
        CompletableFuture<Long> next = thread("waiter", () -> {
            waiter.complete(Thread.currentThread());
            return awaitSignal(sides.get(1));
        });
        await(() -> clock.isParked(waiter.join(), LONGER_THAN_A_REQUEST), () -> "the thread does not wait");
        signal(sides.get(0));
        assertThat(awaitEnd(dying)).isEqualTo(Renewed.Reason.RELEASED);
        assertThat(waiters(waitSet)).hasSize(1);
        assertThat(next).isNotDone();
        clock.advance(LONGEST_WAIT);
        end(next);
        assertThat(inspected(waitSet)).isEmpty();
    }

    // Nobody else refreshes the claims of a test.
    private void refreshLater(List<Claim> claims) {
        if (traits().liveness() == Liveness.LEASE) {
            again(traits().ticketTtl().dividedBy(REFRESHES_OF_A_TICKET), () -> get(store().renew(claims)));
        }
    }

    // While a clock stood still, its client would neither refresh tickets nor repeat what has failed. On a busy machine
    // more time than a step passes between two steps.
    private void followRealTime(ManualClock clock) {
        AtomicLong followedUntil = new AtomicLong(System.nanoTime());
        again(STEP, () -> {
            long now = System.nanoTime();
            clock.advance(Duration.ofNanos(now - followedUntil.getAndSet(now)));
        });
    }

    private void again(Duration every, Runnable work) {
        thread("time", () -> {
            while (!ended.get()) {
                work.run();
                LockSupport.parkNanos(every.toNanos());
            }
            return true;
        });
    }
}
