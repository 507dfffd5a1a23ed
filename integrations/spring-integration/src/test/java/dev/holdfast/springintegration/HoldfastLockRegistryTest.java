package dev.holdfast.springintegration;

import static dev.holdfast.testkit.StoreTest.awaitUntil;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.holdfast.Holdfast;
import dev.holdfast.LockOptions;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.fault.CountingStore;
import dev.holdfast.testkit.fault.FaultyStore;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.integration.support.locks.DistributedLock;

/** What needs no server. */
class HoldfastLockRegistryTest {

    private final FaultyStore network = new FaultyStore(new MemoryLockStore(MonotonicClock.SYSTEM));
    private final CountingStore store = new CountingStore(network);
    private final Holdfast locks = Holdfast.over(store);

    @AfterEach
    void close() {
        network.heal();
        locks.close();
    }

    @Test
    void aStoreThatIsAwayIsReportedInSpringsTerms() {
        HoldfastLockRegistry registry =
                new HoldfastLockRegistry(locks, "", LockOptions.defaults().withStoreTimeout(Duration.ofMillis(20)));
        DistributedLock lock = registry.obtain("a");
        network.partition();
        assertThatExceptionOfType(CannotAcquireLockException.class).isThrownBy(lock::lock);
        assertThatExceptionOfType(CannotAcquireLockException.class).isThrownBy(lock::lockInterruptibly);
        assertThatExceptionOfType(CannotAcquireLockException.class).isThrownBy(lock::tryLock);
        assertThatExceptionOfType(CannotAcquireLockException.class).isThrownBy(() -> lock.tryLock(1, TimeUnit.SECONDS));
        assertThatExceptionOfType(CannotAcquireLockException.class)
                .isThrownBy(() -> lock.tryLock(Duration.ofSeconds(1), Duration.ofSeconds(9)));
        assertThatExceptionOfType(CannotAcquireLockException.class)
                .isThrownBy(() -> lock.lock(Duration.ofSeconds(9)))
                .withMessageContaining("a");
    }

    @Test
    void toObtainSendsNothingAndKeepsNothing() {
        HoldfastLockRegistry registry = new HoldfastLockRegistry(locks);
        for (int i = 0; i < 200_000; i++) {
            registry.obtain("key-" + i);
        }
        assertThat(store.total()).isZero();
        assertThatIllegalArgumentException().isThrownBy(() -> registry.obtain(""));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> registry.obtain("a").lock(Duration.ofMillis(1)));
    }

    @Test
    void aKeyWhoseTextDiffersInEachProcessIsRefused() {
        HoldfastLockRegistry registry = new HoldfastLockRegistry(locks);
        for (Object bad : new Object[] {null, new Object(), new byte[] {1}}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> registry.obtain(bad))
                    .withMessageContaining("the same in all processes");
            assertThatIllegalArgumentException().isThrownBy(() -> registry.renewLock(bad));
        }
        assertThat(registry.obtain(42L)).isEqualTo(registry.obtain("42"));
    }

    @Test
    void conditionsWorkInThisJvm() throws InterruptedException {
        DistributedLock lock = new HoldfastLockRegistry(locks).obtain("a");
        lock.lock();
        assertThat(lock.newCondition().await(1, TimeUnit.MILLISECONDS)).isFalse();
        lock.unlock();
    }

    @Test
    void springsLeaderInitiatorPassesLeadershipOn() {
        LockRegistryLeaderInitiator first = initiator(new HoldfastLockRegistry(locks), "first");
        first.start();
        awaitUntil(() -> first.getContext().isLeader());
        LockRegistryLeaderInitiator second = initiator(new HoldfastLockRegistry(locks), "second");
        second.start();
        assertThat(second.getContext().isLeader()).isFalse();
        first.stop();
        awaitUntil(() -> second.getContext().isLeader());
        second.stop();
    }

    private static LockRegistryLeaderInitiator initiator(HoldfastLockRegistry registry, String id) {
        LockRegistryLeaderInitiator initiator =
                new LockRegistryLeaderInitiator(registry, new DefaultCandidate(id, "billing"));
        initiator.setHeartBeatMillis(20);
        initiator.setBusyWaitMillis(10);
        return initiator;
    }
}
