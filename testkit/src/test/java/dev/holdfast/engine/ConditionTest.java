package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.DistributedLock;
import dev.holdfast.Engines;
import dev.holdfast.Holdfast;
import dev.holdfast.LockConflictException;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockObserver;
import dev.holdfast.LockOptions;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.internal.condition.SharedCondition;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Conditions: those of the JDK, and those that all processes share. */
@SuppressWarnings("WaitNotInLoop") // what is tested is a single wait
class ConditionTest extends EngineFixture {

    private static final String WAIT_SET = "pot#full";

    private final DistributedLock lock = locks.lock("pot");
    private final Condition full = lock.condition("full");
    private final DistributedLock theirs = rival.lock("pot");
    private final Condition theirFull = theirs.condition("full");

    private final Condition local = lock.newCondition();

    private Condition condition(String kind) {
        return kind.equals("local") ? local : full;
    }

    /** Takes the lock and waits; completes when the thread holds the lock again. */
    private CompletableFuture<Long> waiting(Actor actor, DistributedLock of, Condition condition) {
        return actor.park(() -> {
            of.lock();
            condition.await();
            return of.token();
        });
    }

    /** Several threads take the lock one after the other and wait; each unlocks when it has the lock again. */
    private List<CompletableFuture<Void>> crowd(int count, DistributedLock of, Condition condition) {
        List<CompletableFuture<Void>> waiting = new ArrayList<>();
        for (Actor actor : actors("crowd", count)) {
            waiting.add(actor.parkIn(() -> {
                of.lock();
                condition.await();
                of.unlock();
            }));
        }
        return waiting;
    }

    private static void signal(Actor actor, DistributedLock of, Condition condition) {
        actor.run(() -> {
            of.lock();
            condition.signal();
            of.unlock();
        });
    }

    /** The signal is in the store, but its notification is lost on its way. */
    private void signalWithoutNotification() {
        network.partition();
        signal(c, theirs, theirFull);
        network.heal();
    }

    // ---- waiting and signalling ----

    @ParameterizedTest
    @ValueSource(strings = {"local", "shared"})
    void signalWakesTheThreadThatHasWaitedLongest(String kind) {
        Condition condition = condition(kind);
        CompletableFuture<Long> first = waiting(a, lock, condition);
        CompletableFuture<Long> second = waiting(b, lock, condition);
        signal(c, lock, condition);
        Actor.end(first);
        clock.settle();
        assertThat(second).isNotDone();
        a.run(lock::unlock);
        signal(c, lock, condition);
        Actor.end(second);
        b.run(lock::unlock);
    }

    @Test
    void signalOfAnotherProcessWakes() {
        CompletableFuture<Long> ours = waiting(a, lock, full);
        signal(c, theirs, theirFull);
        Actor.end(ours);
        a.run(lock::unlock);

        CompletableFuture<Long> other = waiting(b, theirs, theirFull);
        signal(a, lock, full);
        Actor.end(other);
        b.run(theirs::unlock);
    }

    @ParameterizedTest
    @ValueSource(strings = {"local", "shared"})
    void signalAllWakesAllWhoWaitNow(String kind) {
        Condition condition = condition(kind);
        List<CompletableFuture<Void>> all = crowd(5, lock, condition);
        a.run(() -> {
            lock.lock();
            condition.signalAll();
            lock.unlock();
        });
        all.forEach(Actor::end);
        assertThat(isUnused(WAIT_SET)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"local", "shared"})
    void waitComesBackWithALargerTokenAndAllHolds(String kind) {
        Condition condition = condition(kind);
        CompletableFuture<Long> before = a.park(() -> {
            lock.lock();
            lock.lock();
            long token = lock.token();
            condition.await();
            assertThat(lock.token()).isGreaterThan(token);
            return (long) lock.holdCount();
        });
        signal(b, lock, condition);
        assertThat(Actor.end(before)).isEqualTo(2);
        a.run(lock::unlock);
        assertThat(a.get(lock::isHeldByCurrentThread)).isTrue();
        a.run(lock::unlock);
    }

    @Test
    void threadIsInTheWaitSetBeforeItGivesUpTheLock() {
        a.run(lock::lock);
        network.next(Verb.RELEASE, Fault.HANG);
        CompletableFuture<Void> wait = a.begin(full::await);
        Wait.until("it gives up the lock", () -> network.hanging() == 1);
        assertThat(waiters(WAIT_SET)).isEqualTo(1);
        assertThat(holders("pot")).isEqualTo(1);
        network.letGo();
        Wait.until("it has given up the lock", () -> holders("pot") == 0);
        signal(c, theirs, theirFull);
        Actor.end(wait);
        a.run(lock::unlock);
    }

    // ---- the end of a wait ----

    @ParameterizedTest
    @ValueSource(strings = {"local", "shared"})
    void timeLimitEndsTheWaitAndLeavesNothing(String kind) {
        Condition condition = condition(kind);
        CompletableFuture<Boolean> timed = a.park(() -> {
            lock.lock();
            return condition.await(50, TimeUnit.MILLISECONDS);
        });
        pass(Duration.ofMillis(50));
        assertThat(Actor.end(timed)).isFalse();
        assertThat(a.get(lock::isHeldByCurrentThread)).isTrue();
        assertThat(isUnused(WAIT_SET)).isTrue();
        assertThat(a.get(() -> condition.awaitNanos(0))).isNotPositive();
        assertThat(a.get(() -> condition.await(-1, TimeUnit.SECONDS))).isFalse();
        a.run(lock::unlock);
    }

    @Test
    void timeThatEndsAfterTheSignalIsAWaitInTime() {
        CompletableFuture<Boolean> timed = a.park(() -> {
            lock.lock();
            return full.await(50, TimeUnit.MILLISECONDS);
        });
        signalWithoutNotification();
        clock.advanceAndSettle(Duration.ofMillis(50));
        assertThat(Actor.end(timed)).isTrue();
        a.run(lock::unlock);
    }

    @ParameterizedTest
    @ValueSource(strings = {"local", "shared"})
    void interruptEndsTheWaitWithTheLockHeld(String kind) {
        Condition condition = condition(kind);
        CompletableFuture<Boolean> held = a.park(() -> {
            lock.lock();
            try {
                condition.await();
                return null;
            } catch (InterruptedException expected) {
                return lock.isHeldByCurrentThread() && !Thread.currentThread().isInterrupted();
            }
        });
        a.interrupt();
        assertThat(Actor.end(held)).isTrue();
        assertThat(isUnused(WAIT_SET)).isTrue();
        a.run(lock::unlock);
    }

    @Test
    void interruptAfterTheSignalKeepsTheFlagAndTheSignal() {
        CompletableFuture<Boolean> flag = a.park(() -> {
            lock.lock();
            full.await();
            return Thread.currentThread().isInterrupted();
        });
        signalWithoutNotification();
        a.interrupt();
        assertThat(Actor.end(flag)).isTrue();
        a.run(lock::unlock);
    }

    @Test
    void signalIsKeptIfTheReleaseOfTheOwnPlaceHasNoAnswer() {
        CompletableFuture<Boolean> flag = a.park(() -> {
            lock.lock();
            full.await();
            return Thread.currentThread().isInterrupted();
        });
        signalWithoutNotification();
        network.next(Verb.RELEASE, Fault.REFUSE);
        a.interrupt();
        assertThat(Actor.end(flag)).isTrue();
        a.run(lock::unlock);
    }

    @Test
    void threadThatCannotTakeTheLockBackPassesTheSignalOn() {
        DistributedLock brief = locks.lock("pot", LockOptions.defaults().withStoreTimeout(Duration.ofSeconds(1)));
        Condition condition = brief.newCondition();
        CompletableFuture<Long> first = waiting(a, brief, condition);
        CompletableFuture<Long> second = waiting(b, lock, condition);
        c.run(brief::lock);
        handOffTimeIsOver();
        network.randomly(1, 1, Fault.REFUSE);
        c.run(condition::signal);
        clock.advanceUntil("the first has failed", Duration.ofMillis(100), first::isDone);
        Actor.failure(StoreUnavailableException.class, first);
        assertThat(a.get(brief::holdCount)).isZero();
        network.randomly(0, 0);
        c.run(brief::unlock);
        clock.advanceUntil("the second was woken", Duration.ofMillis(100), second::isDone);
        Actor.end(second);
        b.run(lock::unlock);
    }

    @Test
    void signalIsPassedOnAsSoonAsTheStoreIsBack() {
        DistributedLock brief = locks.lock("pot", LockOptions.defaults().withStoreTimeout(Duration.ofSeconds(1)));
        CompletableFuture<Long> first = waiting(a, brief, brief.condition("full"));
        CompletableFuture<Long> second = waiting(b, theirs, theirFull);
        c.run(theirs::lock);
        network.randomly(1, 1, Fault.REFUSE);
        c.run(theirFull::signal);
        clock.advanceUntil("the first has failed", Duration.ofMillis(100), first::isDone);
        Actor.failure(StoreUnavailableException.class, first);
        pass(Duration.ofSeconds(5));
        assertThat(second).isNotDone();
        network.randomly(0, 0);
        c.run(theirs::unlock);
        pass(Duration.ofSeconds(1));
        assertThat(waiters(WAIT_SET))
                .as("long before the bound of the second wait")
                .isZero();
        Actor.end(second);
        b.run(theirs::unlock);
    }

    @ParameterizedTest
    @ValueSource(strings = {"local", "shared"})
    void uninterruptibleWaitKeepsTheFlag(String kind) {
        Condition condition = condition(kind);
        CompletableFuture<Boolean> flag = a.park(() -> {
            lock.lock();
            condition.awaitUninterruptibly();
            return Thread.currentThread().isInterrupted();
        });
        a.interrupt();
        Wait.until("the thread has noticed the interrupt", () -> !a.thread().isInterrupted());
        assertThat(flag).isNotDone();
        signal(b, lock, condition);
        assertThat(Actor.end(flag)).isTrue();
        a.run(lock::unlock);
    }

    @Test
    void signalGoesToTheNextIfTheFirstHasJustLeft() {
        CompletableFuture<Long> first = waiting(a, theirs, theirFull);
        CompletableFuture<Long> second = waiting(b, theirs, theirFull);
        c.run(lock::lock);
        network.next(Verb.INSPECT, Fault.HANG_REPLY);
        CompletableFuture<Void> signal = c.begin(full::signal);
        // The answer names the first one, which then leaves.
        Wait.until("the store was asked", () -> network.hanging() == 1);
        a.interrupt();
        Wait.until("the first has left", () -> waiters(WAIT_SET) == 1);
        network.letGo();
        Actor.end(signal);
        c.run(lock::unlock);
        // Both take the lock back, in any order.
        Wait.until("one of them has the lock", () -> first.isDone() || second.isDone());
        boolean secondWasSooner = second.isDone();
        if (secondWasSooner) {
            b.run(theirs::unlock);
        }
        Actor.failure(InterruptedException.class, first);
        a.run(theirs::unlock);
        Actor.end(second);
        if (!secondWasSooner) {
            b.run(theirs::unlock);
        }
    }

    @Test
    void lostSignalDelaysByTheLongestWaitOnly() {
        CompletableFuture<Long> waiting = waiting(a, lock, full);
        pass(Duration.ofNanos(SharedCondition.SHORTEST_WAIT_NANOS).minusSeconds(1));
        assertThat(waiting).isNotDone();
        pass(Duration.ofNanos(SharedCondition.LONGEST_WAIT_NANOS - SharedCondition.SHORTEST_WAIT_NANOS)
                .plusSeconds(1));
        Actor.end(waiting);
        a.run(lock::unlock);
    }

    /** As all would that were woken together and wait again. */
    @Test
    void waitsThatBeginTogetherDoNotLookTogether() {
        List<CompletableFuture<Void>> all = crowd(20, lock, full);
        pass(Duration.ofNanos(SharedCondition.SHORTEST_WAIT_NANOS));
        Set<Integer> stillWaiting = new HashSet<>();
        for (int i = 0; i < 6; i++) {
            pass(Duration.ofMillis(500));
            stillWaiting.add(waiters(WAIT_SET));
        }
        assertThat(stillWaiting).hasSizeGreaterThan(2);
        all.forEach(Actor::end);
    }

    @Test
    void placeInTheWaitSetIsRefreshed() {
        CompletableFuture<Long> waiting = waiting(a, lock, full);
        pass(MemoryLockStore.TICKET_TTL.multipliedBy(3));
        assertThat(waiters(WAIT_SET)).isEqualTo(1);
        signal(c, theirs, theirFull);
        Actor.end(waiting);
        a.run(lock::unlock);
    }

    // ---- losses and failures ----

    @ParameterizedTest
    @ValueSource(strings = {"local", "shared"})
    void lostLockNeitherWaitsNorSignals(String kind) {
        Condition condition = condition(kind);
        CompletableFuture<Long> waiting = waiting(b, lock, condition);
        a.run(lock::lock);
        rival.lock("pot").forceRelease();
        // Long enough for the next renewal to find the loss, and shorter than a wait without a signal.
        pass(LEASE.dividedBy(2));
        Actor.failure(LockLostException.class, a.begin(condition::signal));
        Actor.failure(LockLostException.class, a.begin(condition::signalAll));
        Actor.failure(LockLostException.class, a.begin(condition::await));
        assertThat(a.get(lock::holdCount)).isEqualTo(1);
        Actor.failure(LockLostException.class, a.begin(lock::unlock));
        clock.settle();
        assertThat(waiting).as("nobody was woken").isNotDone();
        assertThat(waiters(WAIT_SET)).isEqualTo(kind.equals("shared") ? 1 : 0);
        signal(a, lock, condition);
        Actor.end(waiting);
        b.run(lock::unlock);
    }

    @ParameterizedTest
    @ValueSource(strings = {"local", "shared"})
    void lossThatIsFoundWhenTheLockIsGivenUpEndsTheWait(String kind) {
        Condition condition = condition(kind);
        a.run(lock::lock);
        rival.lock("pot").forceRelease();
        Actor.failure(LockLostException.class, a.begin(condition::await));
        assertThat(a.get(lock::holdCount)).isZero();
        assertThat(isUnused(WAIT_SET)).isTrue();
    }

    /** Its entry was ended before it knew of it, and was made anew, or could not be. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void signalToAThreadThatLosesTheLockAsItEntersIsPassedOn(boolean entersAtLast) {
        a.run(lock::lock);
        network.next(Verb.ENQUEUE, Fault.DROP_REPLY);
        CompletableFuture<Void> enters = a.begin(full::await);
        clock.settle();
        assertThat(waiters(WAIT_SET)).isOne();
        rival.lock("pot").forceRelease();
        CompletableFuture<Long> second = waiting(b, theirs, theirFull);
        signal(c, theirs, theirFull);
        if (!entersAtLast) {
            network.randomly(1, 1, Fault.DROP_REQUEST);
        }
        clock.advanceUntil("the first has failed", Duration.ofMillis(10), enters::isDone);
        Class<? extends LockException> expected =
                entersAtLast ? LockLostException.class : StoreUnavailableException.class;
        Actor.failure(expected, enters);
        network.randomly(0, 0);
        long failed = clock.nanoTime();
        clock.advanceUntil("the second was woken", Duration.ofMillis(10), second::isDone);
        assertThat(clock.nanoTime() - failed).as("it did not look for itself").isLessThan(10_000_000_000L);
        Actor.end(second);
        b.run(theirs::unlock);
    }

    @ParameterizedTest
    @ValueSource(strings = {"local", "shared"})
    void threadThatDoesNotHoldTheLockIsRefused(String kind) {
        Condition condition = condition(kind);
        for (Actor.Action action : List.<Actor.Action>of(condition::await, condition::signal, condition::signalAll)) {
            assertThat(Actor.failure(IllegalMonitorStateException.class, a.begin(action)))
                    .hasMessageContaining("A")
                    .hasMessageContaining("\"pot\"");
        }
        assertThat(store.total()).isZero();
    }

    @Test
    void storeThatCannotBeReachedBeforeTheWaitLeavesTheLockHeld() {
        DistributedLock brief = locks.lock("pot", LockOptions.defaults().withStoreTimeout(Duration.ofSeconds(1)));
        a.run(brief::lock);
        network.randomly(1, 1, Fault.REFUSE);
        CompletableFuture<Void> wait = a.begin(brief.condition("full")::await);
        clock.advanceUntil("the wait has failed", Duration.ofMillis(100), wait::isDone);
        assertThat(Actor.failure(StoreUnavailableException.class, wait))
                .hasMessageContaining("\"full\"")
                .hasMessageContaining("still held");
        network.randomly(0, 0);
        assertThat(a.get(brief::isHeldByCurrentThread)).isTrue();
        a.run(brief::unlock);
        assertThat(isUnused(WAIT_SET)).isTrue();
    }

    @Test
    void requestsThatFailAreRepeated() {
        a.run(lock::lock);
        network.next(Verb.ENQUEUE, Fault.DROP_REPLY);
        CompletableFuture<Void> wait = a.begin(full::await);
        clock.advanceUntil("it waits", Duration.ofMillis(10), () -> holders("pot") == 0 && waiters(WAIT_SET) == 1);
        b.run(lock::lock);
        network.next(Verb.INSPECT, Fault.REFUSE);
        network.next(Verb.RELEASE, Fault.DROP_REPLY);
        CompletableFuture<Void> signal = b.begin(full::signal);
        clock.advanceUntil("it has signalled", Duration.ofMillis(10), signal::isDone);
        Actor.end(signal);
        b.run(lock::unlock);
        Actor.end(wait);
        a.run(lock::unlock);
    }

    @ParameterizedTest
    @ValueSource(strings = {"local", "shared"})
    void closeOfTheClientEndsTheWait(String kind) {
        CompletableFuture<Long> waiting = waiting(a, lock, condition(kind));
        locks.close();
        assertThat(Actor.failure(LockException.class, waiting)).hasMessageContaining("closed");
        assertThat(isUnused(WAIT_SET)).isTrue();
    }

    @Test
    void closeOfTheClientWakesNobodyElse() {
        CompletableFuture<Long> ours = waiting(a, lock, full);
        CompletableFuture<Long> other = waiting(b, theirs, theirFull);
        locks.close();
        Actor.failure(LockException.class, ours);
        clock.settle();
        assertThat(other).isNotDone();
        assertThat(waiters(WAIT_SET)).isEqualTo(1);
        signal(c, theirs, theirFull);
        Actor.end(other);
        b.run(theirs::unlock);
    }

    /** A client that was opened by a URL closes its store after itself; then nothing can be passed on any more. */
    @Test
    void signalToAThreadWhoseClientClosesIsPassedOnBeforeTheStoreIsClosed() throws InterruptedException {
        CompletableFuture<Long> ours = waiting(a, lock, full);
        CompletableFuture<Long> other = waiting(b, theirs, theirFull);
        Runnable goOn = clock.holdBack(a.thread().getName());
        signal(c, theirs, theirFull);
        assertThat(waiters(WAIT_SET)).isEqualTo(1);
        Thread closer = new Thread(() -> {
            locks.close();
            network.partition();
        });
        closer.start();
        // Without the wait for threads the close would end as soon as there are no releases.
        Wait.until(
                "the close waits, or has ended",
                () -> !closer.isAlive()
                        || (LockSupport.getBlocker(closer) == Engines.of(locks)
                                && Engines.of(locks).releases().pending() == 0));
        goOn.run();
        Actor.failure(LockException.class, ours);
        closer.join();
        Actor.end(other);
        b.run(theirs::unlock);
    }

    /** An observer is called on the thread that waits, so a close from there cannot wait for that thread. */
    @Test
    void closeByAThreadThatWaitsDoesNotWaitForItself() {
        CompletableFuture<Integer> awaited = new CompletableFuture<>();
        AtomicReference<Holdfast> closing = new AtomicReference<>();
        closing.set(client(Holdfast.builder().store(memory).observer(new LockObserver() {
            @Override
            public void released(String name, Duration held) {
                if (awaited.complete(Engines.of(closing.get()).waitSets().unfinished())) {
                    closing.get().close();
                }
            }
        })));
        DistributedLock closed = closing.get().lock("closed");
        a.run(closed::lock);
        Actor.failure(LockException.class, a.begin(closed.condition("full")::await));
        assertThat(Actor.end(awaited)).isZero();
    }

    // ---- kinds, names, costs ----

    @Test
    void writeLockHasConditionsAndReadLockHasNot() {
        DistributedLock write = locks.readWriteLock("shared").writeLock();
        DistributedLock read = locks.readWriteLock("shared").readLock();
        CompletableFuture<Long> waiting = waiting(a, write, write.condition("full"));
        signal(b, write, write.condition("full"));
        Actor.end(waiting);
        a.run(read::lock);
        assertThat(Actor.failure(IllegalMonitorStateException.class, a.begin(write.condition("full")::await)))
                .hasMessageContaining("read lock");
        a.run(read::unlock);
        a.run(write::unlock);
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(read::newCondition);
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> read.condition("full"));
        DistributedLock several = locks.multiLock("a", "b");
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(several::newCondition);
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> several.condition("full"));
    }

    @Test
    void storeWithoutAQueueRefusesTheSharedConditionOnly() {
        DistributedLock simple = client(new NoQueueStore(memory)).lock("pot");
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> simple.condition("full"))
                .withMessageContaining("no queue");
        CompletableFuture<Long> waiting = waiting(a, simple, simple.newCondition());
        a.interrupt();
        Actor.failure(InterruptedException.class, waiting);
        a.run(simple::unlock);
    }

    @Test
    void badNamesAndNamesInUseAreRefused() {
        assertThatExceptionOfType(IllegalArgumentException.class).isThrownBy(() -> lock.condition(""));
        assertThatExceptionOfType(IllegalArgumentException.class).isThrownBy(() -> lock.condition("x".repeat(2_000)));
        assertThatExceptionOfType(IllegalArgumentException.class).isThrownBy(() -> lock.condition("a#b"));
        b.run(rival.lock(WAIT_SET)::lock);
        CompletableFuture<Void> queued = c.parkIn(locks.lock(WAIT_SET)::lock);
        a.run(lock::lock);
        Actor.failure(LockConflictException.class, a.begin(full::signal));
        assertThat(waiters(WAIT_SET)).isEqualTo(1);
        assertThat(Actor.failure(LockConflictException.class, a.begin(full::await)))
                .hasMessageContaining(WAIT_SET);
        assertThat(a.get(lock::isHeldByCurrentThread)).isTrue();
        a.run(lock::unlock);
        b.run(rival.lock(WAIT_SET)::unlock);
        Actor.end(queued);
        c.run(locks.lock(WAIT_SET)::unlock);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 20})
    void requestsOfASignalDoNotGrowWithTheWaiters(int count) {
        List<CompletableFuture<Void>> waiting = crowd(count, theirs, theirFull);
        c.run(lock::lock);
        store.reset();
        c.run(full::signal);
        assertThat(store.total()).isEqualTo(2);
        c.run(full::signalAll);
        c.run(lock::unlock);
        waiting.forEach(Actor::end);
    }

    @Test
    void ownerOfAPlaceHoldsWhatItHasNotGivenUp() {
        CompletableFuture<Void> waiting = a.parkIn(() -> {
            locks.lock("lid").lock();
            lock.lock();
            full.await();
        });
        ResourceState.Entry place = memory.inspect(new LockName(WAIT_SET))
                .toCompletableFuture()
                .join()
                .orElseThrow()
                .waiters()
                .get(0);
        assertThat(place.claim().owner().thread()).isEqualTo("A");
        assertThat(place.claim().owner().held()).containsExactly("lid");
        signal(c, theirs, theirFull);
        Actor.end(waiting);
        a.run(lock::unlock);
        a.run(locks.lock("lid")::unlock);
    }

    @Test
    void waitIsOneRequestBesidesThoseOfTheLock() {
        a.run(lock::lock);
        store.reset();
        CompletableFuture<Void> wait = a.parkIn(full::await);
        assertThat(store.count(Verb.ENQUEUE)).isEqualTo(1);
        assertThat(store.count(Verb.RELEASE)).isEqualTo(1);
        store.reset();
        signal(c, theirs, theirFull);
        Actor.end(wait);
        assertThat(store.total()).as("the lock is taken back").isEqualTo(1);
        a.run(lock::unlock);
    }
}
