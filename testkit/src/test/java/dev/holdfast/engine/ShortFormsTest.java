package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedSemaphore;
import dev.holdfast.Lease;
import dev.holdfast.LockConflictException;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Tests of what users of {@code java.util.concurrent} ask a lock for. */
class ShortFormsTest extends EngineFixture {

    private static final Duration SECOND = Duration.ofSeconds(1);

    private final DistributedLock lock = locks.lock("short");
    private final DistributedSemaphore semaphore = locks.semaphore("permits", 5);

    @Test
    void aLockKnowsWhetherAnybodyHoldsIt() throws InterruptedException {
        assertThat(lock.isLocked()).isFalse();
        Lease lease = rival.lock("short").acquire();
        assertThat(lock.isLocked()).isTrue();
        lease.release();
        assertThat(lock.isLocked()).isFalse();
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(locks.multiLock("x", "y")::isLocked);
    }

    @Test
    void aSemaphoreKnowsItsFreePermits() throws InterruptedException {
        assertThat(semaphore.availablePermits()).isEqualTo(5);
        Lease two = rival.semaphore("permits", 5).acquire(2);
        Lease one = semaphore.acquire();
        assertThat(semaphore.availablePermits()).isEqualTo(2);
        two.release();
        one.release();
        assertThat(semaphore.availablePermits()).isEqualTo(5);
    }

    /** As an acquire would say it. */
    @Test
    void thePermitsOfANameThatIsInUseAsAnotherKindAreNoNumber() throws InterruptedException {
        Lease other = rival.semaphore("permits", 9).acquire(7);
        assertThatExceptionOfType(LockConflictException.class)
                .isThrownBy(semaphore::availablePermits)
                .withMessageContainingAll("permits", "semaphore of 9", "semaphore of 5")
                .satisfies(asked -> assertThatExceptionOfType(LockConflictException.class)
                        .isThrownBy(semaphore::tryAcquire)
                        .withMessage(asked.getMessage()));
        assertThatExceptionOfType(LockConflictException.class)
                .isThrownBy(locks.election("permits")::leader)
                .withMessageContainingAll("permits", "semaphore of 9", "mutex");
        other.release();
        assertThat(semaphore.availablePermits()).isEqualTo(5);
    }

    @Test
    void aTimedTryGivesALeaseOrNothing() throws InterruptedException {
        Lease all = rival.semaphore("permits", 5).acquire(5);
        CompletableFuture<Optional<Lease>> inVain = a.park(() -> semaphore.tryAcquire(2, SECOND));
        CompletableFuture<Optional<Lease>> inTime = b.park(() -> semaphore.tryAcquire(3, SECOND.multipliedBy(60)));
        pass(SECOND);
        assertThat(Actor.end(inVain)).isEmpty();
        all.release();
        clock.advanceUntil("it has them", Duration.ofMillis(100), inTime::isDone);
        assertThat(Actor.end(inTime)).isPresent();
        assertThat(semaphore.tryAcquire(3, Duration.ZERO)).isEmpty();
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> semaphore.tryAcquire(1, Duration.ofMillis(-1)));
        assertThatExceptionOfType(IllegalArgumentException.class).isThrownBy(() -> semaphore.tryAcquire(6, SECOND));
    }

    @Test
    void aLockIsTriedForATimeAsPermitsAre() throws InterruptedException {
        DistributedLock several = locks.multiLock("short", "other");
        Lease held = rival.lock("short").acquire();
        for (DistributedLock tried : List.of(lock, several)) {
            assertThat(tried.tryAcquire(Duration.ZERO)).isEmpty();
            CompletableFuture<Optional<Lease>> inVain = a.park(() -> tried.tryAcquire(SECOND));
            pass(SECOND);
            assertThat(Actor.end(inVain)).isEmpty();
        }
        CompletableFuture<Optional<Lease>> inTime = a.park(() -> several.tryAcquire(SECOND.multipliedBy(60)));
        held.release();
        Actor.end(inTime).orElseThrow().release();
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> lock.tryAcquire(Duration.ofMillis(-1)));
    }

    @Test
    void onePermitNeedsNoNumber() throws InterruptedException {
        List<Lease> five = List.of(
                semaphore.acquire(),
                semaphore.acquire(SECOND),
                semaphore.tryAcquire(SECOND).orElseThrow(),
                Actor.end(semaphore.acquireAsync()),
                Actor.end(semaphore.acquireAsync(SECOND)));
        assertThat(semaphore.availablePermits()).isZero();
        assertThatExceptionOfType(LockTimeoutException.class).isThrownBy(() -> semaphore.acquire(Duration.ZERO));
        assertThat(semaphore.tryAcquire(Duration.ZERO)).isEmpty();
        Actor.failure(LockTimeoutException.class, semaphore.acquireAsync(Duration.ZERO));
        five.forEach(Lease::release);
    }

    /** Three threads of this client wait behind one claim in the store, and one behind a claim of its own. */
    @Test
    void theQueueCountsThreadsOfThisClientAndClaimsOfOthers() {
        c.run(rival.lock("short")::lock);
        assertThat(lock.queueLength()).isZero();
        a.parkIn(lock::lock);
        b.parkIn(lock::lock);
        CompletableFuture<Lease> future = lock.acquireAsync();
        actor("fair").parkIn(locks.lock("short", LockOptions.defaults().withFair(true))::lock);
        awaitWaiters("short", 2);
        assertThat(lock.queueLength()).isEqualTo(4);
        // The two claims of the other client.
        assertThat(rival.lock("short").queueLength()).isEqualTo(2);
        future.cancel(false);
        assertThat(lock.queueLength()).isEqualTo(3);
        assertThat(semaphore.queueLength()).isZero();
    }

    @Test
    void theStateNamesTheThreadThatHoldsAfterAHandOffInsideTheJvm() {
        a.run(lock::lock);
        CompletableFuture<Void> waiting = b.parkIn(lock::lock);
        a.run(lock::unlock);
        Actor.end(waiting);
        assertThat(holder()).isEqualTo("B");
        assertThat(locks.state("short")
                        .orElseThrow()
                        .holders()
                        .get(0)
                        .claim()
                        .owner()
                        .thread())
                .isEqualTo("B");
        b.run(lock::unlock);
    }

    private String holder() {
        return lock.state().orElseThrow().holders().get(0).claim().owner().thread();
    }
}
