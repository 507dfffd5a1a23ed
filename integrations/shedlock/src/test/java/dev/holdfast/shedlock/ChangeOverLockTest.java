package dev.holdfast.shedlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.Holdfast;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.fault.CountingStore;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.FaultyStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.time.Instant;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What becomes of the two locks of a change-over when one of them is lost or fails. The other provider is one of ours, over a store of its own. */
class ChangeOverLockTest {

    private static final Duration MOST = Duration.ofMinutes(10);

    private final ManualClock clock = new ManualClock();
    private final MemoryLockStore store = new MemoryLockStore(clock);
    private final FaultyStore theirNetwork = new FaultyStore(new MemoryLockStore(clock));
    private final CountingStore theirStore = new CountingStore(theirNetwork);
    private final Holdfast locks = Holdfast.builder().store(store).clock(clock).connect();
    private final Holdfast theirLocks =
            Holdfast.builder().store(theirStore).clock(clock).connect();
    private final ExtensibleLockProvider both =
            new HoldfastLockProvider(locks, clock).beside(new HoldfastLockProvider(theirLocks, clock));

    @AfterEach
    void close() {
        locks.close();
        theirLocks.close();
    }

    private SimpleLock locked() {
        return both.lock(job()).orElseThrow();
    }

    private static LockConfiguration job() {
        return new LockConfiguration(Instant.EPOCH, "nightly", MOST, Duration.ZERO);
    }

    private boolean isOursLocked() {
        return locks.lock("nightly").isLocked();
    }

    /** By then the lock of theirs may be another process's of this host. */
    @Test
    void theirsIsNotUnlockedWhenLockAtMostForIsOver() {
        SimpleLock unlocked = locked();
        clock.advance(MOST);
        theirStore.reset();
        unlocked.unlock();
        assertThat(theirStore.total()).isZero();
    }

    @Test
    void theirsIsNotExtendedWhenLockAtMostForIsOver() {
        SimpleLock extended = locked();
        clock.advance(MOST);
        theirStore.reset();
        assertThat(extended.extend(MOST, Duration.ZERO)).isEmpty();
        assertThat(theirStore.total()).isZero();
    }

    @Test
    void aFailureOfTheirsLeavesOursFree() {
        theirNetwork.next(Verb.TRY_ACQUIRE, Fault.REJECT);
        assertThatExceptionOfType(StoreUnavailableException.class).isThrownBy(this::locked);
        assertThat(isOursLocked()).isFalse();
    }

    /** The job may still run. */
    @Test
    void aFailureOfTheirExtensionLeavesOursHeld() {
        SimpleLock lock = locked();
        theirNetwork.next(Verb.RENEW, Fault.REJECT);
        assertThatExceptionOfType(StoreUnavailableException.class)
                .isThrownBy(() -> lock.extend(MOST.multipliedBy(2), Duration.ZERO));
        assertThat(isOursLocked()).isTrue();
    }

    @Test
    void whatTheyHaveLostIsNotExtended() {
        SimpleLock lock = locked();
        theirLocks.lock("nightly").forceRelease();
        assertThat(lock.extend(MOST.multipliedBy(2), Duration.ZERO)).isEmpty();
        assertThat(isOursLocked()).isFalse();
    }

    @Test
    void whatWeHaveLostIsNotExtended() {
        SimpleLock lock = locked();
        locks.lock("nightly").forceRelease();
        assertThat(lock.extend(MOST.multipliedBy(2), Duration.ZERO)).isEmpty();
        assertThat(theirLocks.lock("nightly").isLocked()).isFalse();
    }
}
