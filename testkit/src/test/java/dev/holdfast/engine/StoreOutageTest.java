package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.DistributedLock;
import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests of a store that is unreachable for shorter or longer than {@code storeTimeout}, or refuses permanently. */
class StoreOutageTest extends EngineFixture {

    private static final Duration TIMEOUT = Duration.ofSeconds(3);
    private static final Duration SOON = Duration.ofMillis(50);

    private final LockOptions options = LockOptions.defaults().withStoreTimeout(TIMEOUT);
    private final DistributedLock lock = locks.lock("outage", options);

    static Stream<String> ways() {
        return Stream.of(
                "lock", "lockInterruptibly", "tryLock", "timed tryLock", "acquire", "timed acquire", "tryAcquire");
    }

    private Callable<?> way(String name) {
        return way(name, lock);
    }

    private static Callable<?> way(String name, DistributedLock lock) {
        return switch (name) {
            case "lock" -> locking(lock, lock::lock);
            case "lockInterruptibly" -> locking(lock, lock::lockInterruptibly);
            case "tryLock" -> locking(lock, () -> assertThat(lock.tryLock()).isTrue());
            case "timed tryLock" ->
                locking(lock, () -> assertThat(lock.tryLock(1, TimeUnit.HOURS)).isTrue());
            case "acquire" -> leasing(lock::acquire);
            case "timed acquire" -> leasing(() -> lock.acquire(Duration.ofHours(1)));
            case "tryAcquire" -> leasing(() -> lock.tryAcquire().orElseThrow());
            default -> throw new IllegalArgumentException(name);
        };
    }

    private static Callable<?> locking(DistributedLock lock, Actor.Action action) {
        return () -> {
            action.run();
            lock.unlock();
            return null;
        };
    }

    private static Callable<?> leasing(Callable<Lease> acquiring) {
        return () -> {
            acquiring.call().release();
            return null;
        };
    }

    @ParameterizedTest
    @MethodSource("ways")
    void anOutageLongerThanTheTimeoutEndsEveryWayToAcquireWithAMessageThatHelps(String way) {
        network.partition();
        CompletableFuture<?> acquiring = a.start(way(way));
        clock.advanceUntil("it has failed", SOON, acquiring::isDone);
        StoreUnavailableException failure = Actor.failure(StoreUnavailableException.class, acquiring);
        assertThat(failure)
                .hasMessageContainingAll("outage", locks.clientId(), "memory", "3000 ms", "Check that it runs");
        network.heal();
        awaitUnused("outage");
    }

    @ParameterizedTest
    @MethodSource("ways")
    void anOutageShorterThanTheTimeoutIsWaitedFor(String way) {
        DistributedLock patient = locks.lock("outage", options.withStoreTimeout(Duration.ofHours(1)));
        network.partition();
        CompletableFuture<?> acquiring = a.start(way(way, patient));
        Wait.until("the store was asked", () -> store.total() > 0);
        for (int i = 0; i < 20; i++) {
            clock.advanceAndSettle(SOON);
        }
        assertThat(acquiring).isNotDone();
        network.heal();
        clock.advanceUntil("it has ended", SOON, acquiring::isDone);
        Actor.end(acquiring);
        awaitUnused("outage");
    }

    @ParameterizedTest
    @MethodSource("ways")
    void failuresThatSurelyHadNoEffectAreRepeated(String way) {
        Fault[] refusals = {Fault.REFUSE, Fault.REFUSE, Fault.REFUSE};
        network.next(Verb.TRY_ACQUIRE, refusals).next(Verb.ENQUEUE, refusals);
        CompletableFuture<?> acquiring = a.start(way(way));
        clock.advanceUntil("it has ended", SOON, acquiring::isDone);
        Actor.end(acquiring);
        awaitUnused("outage");
    }

    @ParameterizedTest
    @MethodSource("ways")
    void aStoreThatNeverAnswersIsAnOutage(String way) {
        network.next(Verb.TRY_ACQUIRE, Fault.HANG).next(Verb.ENQUEUE, Fault.HANG);
        CompletableFuture<?> acquiring = a.start(way(way));
        Wait.until("it waits for the answer", () -> network.hanging() == 1);
        clock.advanceUntil("it has failed", SOON, acquiring::isDone);
        Actor.failure(StoreUnavailableException.class, acquiring);
        clock.settle();
        assertThat(store.count(Verb.RELEASE)).as("releases of what was sent").isPositive();
        network.letGo();
        awaitUnused("outage");
    }

    @ParameterizedTest
    @MethodSource("ways")
    void aStoreThatRefusesForGoodIsNotAskedAgain(String way) {
        ForwardingStore refusing = new ForwardingStore(memory) {
            @Override
            public CompletionStage<Attempt> tryAcquire(Claim claim) {
                return CompletableFuture.failedStage(StoreException.refused("no permission", null));
            }

            @Override
            public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
                listener.failed(StoreException.refused("no permission", null));
                return ListenerRegistration.NONE;
            }
        };
        DistributedLock mine = client(refusing).lock("outage", options);
        assertThat(Actor.failure(StoreUnavailableException.class, a.start(way(way, mine))))
                .hasMessageContainingAll("outage", "no permission")
                .hasMessageNotContaining("Check that it runs");
        Actor.failure(StoreUnavailableException.class, mine.acquireAsync());
    }

    /**
     * Each grant is more than half over when its answer arrives, and so is each renewal. So nobody could use any of
     * them.
     */
    @Test
    void aStoreThatAlwaysAnswersTooLateIsAnOutage() {
        Duration lease = Duration.ofSeconds(1);
        Duration slowness = Duration.ofMillis(600);
        ForwardingStore slow = new ForwardingStore(memory) {
            @Override
            public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
                clock.advance(slowness);
                return super.enqueue(claim, listener);
            }

            @Override
            public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
                clock.advance(slowness);
                return super.renew(claims);
            }
        };
        DistributedLock mine = client(slow).lock("outage", options.withLease(lease));
        CompletableFuture<Void> acquiring = a.begin(mine::lock);
        clock.advanceUntil("it has failed", SOON, acquiring::isDone);
        assertThat(Actor.failure(StoreUnavailableException.class, acquiring))
                .hasMessageContaining("longer to answer than half of the lease");
        awaitUnused("outage");
    }

    /** A defect of a store, thrown or returned, is reported as a failure of the store and affects no other lock. */
    @Test
    void aStoreThatThrowsWhatItMayNotIsAnOutage() {
        ForwardingStore defective = new ForwardingStore(memory) {
            @Override
            public CompletionStage<Attempt> tryAcquire(Claim claim) {
                throw new NullPointerException("a defect of the store");
            }

            @Override
            public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
                throw new NullPointerException("a defect of the store");
            }
        };
        DistributedLock mine = client(defective).lock("outage", options);
        DistributedLock other = client(defective).lock("other", options);
        CompletableFuture<Void> locking = a.begin(mine::lock);
        CompletableFuture<Boolean> trying = b.start(other::tryLock);
        clock.advanceUntil("both have failed", SOON, () -> locking.isDone() && trying.isDone());
        assertThat(Actor.failure(StoreUnavailableException.class, locking))
                .hasMessageContaining("a defect of the store");
        assertThat(Actor.failure(StoreUnavailableException.class, trying))
                .hasMessageContaining("a defect of the store");
    }

    @Test
    void aWaiterInTheQueueThatCannotRefreshItsTicketGivesUp() {
        c.run(rival.lock("outage")::lock);
        CompletableFuture<Void> first = a.parkIn(lock::lock);
        CompletableFuture<Lease> second = lock.acquireAsync();
        network.partition();
        clock.advanceUntil("both have failed", Duration.ofMillis(100), () -> first.isDone() && second.isDone());
        Actor.failure(StoreUnavailableException.class, first);
        Actor.failure(StoreUnavailableException.class, second);
        network.heal();
        clock.advanceUntil("nobody waits in the store", Duration.ofMillis(100), () -> waiters("outage") == 0);
        c.run(() -> {
            try {
                rival.lock("outage").unlock();
            } catch (LockLostException ifTheOutageTookLong) {
                // Its own renewals are not cut off, but a loaded machine may not run them between two steps.
            }
        });
    }

    /** Each waiter has its own store timeout. */
    @Test
    void aPatientWaiterOutlivesAnImpatientOne() {
        DistributedLock patient = locks.lock("outage", options.withStoreTimeout(Duration.ofMinutes(10)));
        network.partition();
        CompletableFuture<Void> first = a.begin(lock::lock);
        CompletableFuture<Void> second = b.begin(patient::lock);
        clock.advanceUntil("the impatient one has failed", SOON, first::isDone);
        Actor.failure(StoreUnavailableException.class, first);
        assertThat(second).isNotDone();
        network.heal();
        clock.advanceUntil("the patient one has it", SOON, second::isDone);
        Actor.end(second);
        b.run(patient::unlock);
        clock.advanceUntil("nothing is left", SOON, () -> isUnused("outage"));
    }

    @Test
    void looksAtAStoreThatIsOutOfReachSaySo() {
        network.partition();
        for (Callable<?> look : new Callable<?>[] {
            () -> locks.state("outage"), () -> lock.state(), () -> locks.list("", 10), () -> lock.forceRelease()
        }) {
            assertThatExceptionOfType(StoreUnavailableException.class)
                    .isThrownBy(look::call)
                    .withMessageContainingAll(locks.clientId(), "memory");
        }
    }

    /**
     * The work is done and the hold was valid until now, so an outage at the release is not a failure of the work.
     */
    @Test
    void unlockDuringAnOutageReturns() {
        a.run(lock::lock);
        network.partition();
        a.run(lock::unlock);
        assertThat(a.get(lock::isHeldByCurrentThread)).isFalse();
        network.heal();
        clock.advanceUntil("it is released", SOON, () -> isUnused("outage"));
    }
}
