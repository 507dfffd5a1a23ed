package dev.holdfast.shedlock;

import static dev.holdfast.testkit.StoreTest.awaitUntil;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.holdfast.Holdfast;
import dev.holdfast.LockObserver;
import dev.holdfast.LockOptions;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.fault.CountingStore;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.FaultyStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What ShedLock's kit does not ask for, on a clock that stands still. */
class HoldfastLockProviderTest {

    private static final Duration MOST = Duration.ofMinutes(10);
    /** A little more than that, when the lease in the store is over, too. */
    private static final Duration OVER = MOST.plus(MOST.dividedBy(50));

    private static final Duration LEAST = Duration.ofMinutes(1);
    private static final Duration MOMENT = Duration.ofMillis(1);

    private final ManualClock clock = new ManualClock();
    private final MemoryLockStore memory = new MemoryLockStore(clock);
    private final FaultyStore network = new FaultyStore(memory);
    private final CountingStore store = new CountingStore(network);
    private final Holdfast locks = Holdfast.builder().store(store).clock(clock).connect();
    private final Holdfast others =
            Holdfast.builder().store(memory).clock(clock).connect();
    private final HoldfastLockProvider provider = new HoldfastLockProvider(locks, clock);
    private final HoldfastLockProvider otherNode = new HoldfastLockProvider(others, clock);

    @AfterEach
    void close() {
        locks.close();
        others.close();
    }

    private static LockConfiguration job(Duration atMost, Duration atLeast) {
        return new LockConfiguration(Instant.EPOCH, "nightly", atMost, atLeast);
    }

    private SimpleLock locked(Duration atLeast) {
        return provider.lock(job(MOST, atLeast)).orElseThrow();
    }

    private Optional<SimpleLock> otherNodeLocks() {
        return otherNode.lock(job(MOST, Duration.ZERO));
    }

    @Test
    void theLockIsTakenUntilLockAtLeastForAlsoIfTheNodeEnds() {
        SimpleLock lock = locked(LEAST);
        clock.advance(Duration.ofSeconds(20));
        lock.unlock();
        locks.close();
        clock.advance(Duration.ofSeconds(40).minus(MOMENT));
        assertThat(otherNodeLocks()).isEmpty();
        clock.advance(MOMENT);
        assertThat(otherNodeLocks()).isPresent();
    }

    /** No store has so short a lease, so a timer of the JVM ends the lock of the job itself. */
    @Test
    void aShortRestOfLockAtLeastForIsKeptByATimer() {
        Duration rest = Duration.ofMillis(60);
        SimpleLock lock = locked(rest);
        store.reset();
        long begun = System.nanoTime();
        lock.unlock();
        awaitUntil(() -> !others.lock("nightly").isLocked());
        assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThanOrEqualTo(rest);
        assertThat(store.count(Verb.TRY_ACQUIRE)).isZero();
        assertThat(otherNodeLocks()).isPresent();
    }

    /** A node that came too early must leave nothing taken. */
    @Test
    void whoComesBeforeLockAtLeastForHoldsNothing() {
        locked(LEAST).unlock();
        assertThat(otherNodeLocks()).isEmpty();
        assertThat(others.lock("nightly").isLocked()).isFalse();
    }

    @Test
    void lockAtLeastForIsCountedFromAnExtension() {
        SimpleLock lock = locked(Duration.ZERO);
        clock.advance(LEAST);
        lock.extend(MOST, LEAST).orElseThrow().unlock();
        clock.advance(LEAST.minus(MOMENT));
        assertThat(otherNodeLocks()).isEmpty();
        clock.advance(MOMENT);
        assertThat(otherNodeLocks()).isPresent();
    }

    @Test
    void theLockIsNotRenewedAndEndsAtLockAtMostFor() {
        SimpleLock lock = locked(Duration.ZERO);
        store.reset();
        clock.advance(MOST.minus(MOMENT));
        assertThat(otherNodeLocks()).isEmpty();
        assertThat(locks.lock("nightly").isLocked()).isTrue();
        clock.advance(OVER.minus(MOST));
        SimpleLock theirs = otherNodeLocks().orElseThrow();
        assertThat(store.count(Verb.RENEW)).isZero();
        assertThat(lock.extend(MOST, Duration.ZERO)).isEmpty();
        assertThat(otherNodeLocks()).isEmpty();
        theirs.unlock();
    }

    /** ShedLock's jobs are told nothing of a loss: their unlock must neither fail nor touch the lock of the next one. */
    @Test
    void anUnlockAfterLockAtMostForLeavesTheNextHolderAlone() {
        SimpleLock lock = locked(Duration.ZERO);
        clock.advance(OVER);
        assertThat(otherNodeLocks()).isPresent();
        assertThatCode(lock::unlock).doesNotThrowAnyException();
        assertThat(others.lock("nightly").isLocked()).isTrue();
    }

    @Test
    void anExtensionNeverShortens() {
        assertThat(locked(Duration.ZERO).extend(LEAST, Duration.ZERO)).isPresent();
        clock.advance(LEAST);
        assertThat(otherNodeLocks()).isEmpty();
    }

    @Test
    void aLockOfTheSameNameExcludesTheJob() throws InterruptedException {
        others.lock("nightly", LockOptions.defaults()).lock();
        assertThat(provider.lock(job(MOST, Duration.ZERO))).isEmpty();
        others.lock("nightly").unlock();
        assertThat(provider.lock(job(MOST, Duration.ZERO))).isPresent();
    }

    @Test
    void roundTripsAreCounted() {
        SimpleLock lock = locked(LEAST);
        assertThat(store.total()).isEqualTo(2);
        store.reset();
        lock.unlock();
        assertThat(store.total()).isEqualTo(2);
        store.reset();
        clock.advance(LEAST);
        // The claim whose lease was left is released by a thread of the client when that is over.
        awaitUntil(() -> store.count(Verb.RELEASE) == 1);
        SimpleLock theirs = otherNodeLocks().orElseThrow();
        store.reset();
        assertThat(provider.lock(job(MOST, LEAST))).isEmpty();
        assertThat(store.total()).isEqualTo(1);
        theirs.unlock();
        SimpleLock second = locked(Duration.ZERO);
        store.reset();
        second.unlock();
        assertThat(store.total()).isEqualTo(1);
    }

    @Test
    void ifTheRestCannotBeLockedTheLockStays() {
        SimpleLock lock = locked(LEAST);
        network.next(Verb.TRY_ACQUIRE, Fault.REJECT);
        assertThatExceptionOfType(StoreUnavailableException.class).isThrownBy(lock::unlock);
        clock.advance(MOST.minus(MOMENT));
        assertThat(otherNodeLocks()).isEmpty();
    }

    /** Its lease is over when the thread has it, which was paused. */
    @Test
    void ifTheRestIsOverWhenItIsLockedNothingStaysLocked() {
        LockObserver pause = new LockObserver() {
            @Override
            public void acquireEnded(String name, Outcome outcome, Duration waited) {
                if (name.endsWith(HoldfastLockProvider.AT_LEAST)) {
                    clock.advance(LEAST);
                }
            }
        };
        try (Holdfast paused =
                Holdfast.builder().store(memory).clock(clock).observer(pause).connect()) {
            SimpleLock lock = new HoldfastLockProvider(paused, clock)
                    .lock(job(MOST, LEAST))
                    .orElseThrow();
            assertThatCode(lock::unlock).doesNotThrowAnyException();
            assertThat(otherNodeLocks()).isPresent();
        }
    }

    @Test
    void ifTheRestCannotBeLookedAtNothingStaysLocked() {
        network.next(Verb.INSPECT, Fault.REFUSE);
        assertThatExceptionOfType(StoreUnavailableException.class).isThrownBy(() -> locked(LEAST));
        assertThat(others.lock("nightly").isLocked()).isFalse();
    }

    @Test
    void whatNoStoreCanKeepIsRefusedBeforeAnythingIsSent() {
        LockConfiguration tooLong = job(Duration.ofHours(25), Duration.ZERO);
        assertThatIllegalArgumentException().isThrownBy(() -> provider.lock(tooLong));
        LockConfiguration longName = new LockConfiguration(Instant.EPOCH, "n".repeat(247), MOST, Duration.ZERO);
        assertThatIllegalArgumentException().isThrownBy(() -> provider.lock(longName));
        assertThat(store.total()).isZero();
    }
}
