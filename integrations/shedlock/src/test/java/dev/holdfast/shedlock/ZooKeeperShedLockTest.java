package dev.holdfast.shedlock;

import static dev.holdfast.testkit.StoreTest.awaitUntil;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.apache.curator.test.InstanceSpec;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A store that keeps no lock for longer than a session without renewals. */
class ZooKeeperShedLockTest {

    private static final int TICK_MILLIS = 500;
    private static final Duration LONG = Duration.ofMinutes(10);
    private static final Duration SHORT = Duration.ofMillis(150);

    private static final TestingServer SERVER = started();
    private static final String URL = "zookeeper://" + SERVER.getConnectString() + "?sessionTimeout=10s";

    private final Holdfast locks = Holdfast.connect(URL);
    private final Holdfast others = Holdfast.connect(URL);
    private final HoldfastLockProvider provider = new HoldfastLockProvider(locks);
    private final HoldfastLockProvider otherNode = new HoldfastLockProvider(others);

    private static TestingServer started() {
        try {
            // What a crash of the machine would cost does not matter here.
            System.setProperty("zookeeper.forceSync", "no");
            return new TestingServer(new InstanceSpec(null, -1, -1, -1, true, -1, TICK_MILLIS, -1, Map.of()), true);
        } catch (Exception failure) {
            throw new AssertionError("ZooKeeper's test server could not be started", failure);
        }
    }

    @AfterAll
    static void stop() throws IOException {
        SERVER.close();
    }

    @AfterEach
    void close() {
        locks.close();
        others.close();
    }

    private static LockConfiguration job(Duration atMost, Duration atLeast) {
        return new LockConfiguration(Instant.now(), "nightly", atMost, atLeast);
    }

    private boolean isFreeElsewhere() {
        Optional<SimpleLock> lock = otherNode.lock(job(LONG, Duration.ZERO));
        lock.ifPresent(SimpleLock::unlock);
        return lock.isPresent();
    }

    /** A lease that is not renewed is lost after two fifths of the session's time-out. The lock of a job must not be. */
    @Test
    void theLockOutlivesALeaseThatIsNotRenewed() throws InterruptedException {
        SimpleLock lock = provider.lock(job(LONG, Duration.ZERO)).orElseThrow();
        Lease twin = locks.lock("twin", LockOptions.defaults().withFixedLease(Duration.ofMinutes(1)))
                .acquire();
        awaitUntil(() -> !twin.isValid());
        SimpleLock extended = lock.extend(LONG, Duration.ZERO).orElseThrow();
        assertThat(isFreeElsewhere()).isFalse();
        extended.unlock();
        assertThat(isFreeElsewhere()).isTrue();
    }

    @Test
    void theLockEndsAtLockAtMostFor() {
        long begun = System.nanoTime();
        SimpleLock lock = provider.lock(job(SHORT, Duration.ZERO)).orElseThrow();
        awaitUntil(this::isFreeElsewhere);
        assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThanOrEqualTo(SHORT);
        SimpleLock theirs = otherNode.lock(job(LONG, Duration.ZERO)).orElseThrow();
        lock.unlock();
        assertThat(provider.lock(job(LONG, Duration.ZERO)))
                .as("their lock is left alone")
                .isEmpty();
        theirs.unlock();
    }

    /** And what the earlier lock had set for its end does not end the extended one. */
    @Test
    void anExtensionCountsFromNowAndNeverShortens() {
        Optional<SimpleLock> extended = Optional.empty();
        while (extended.isEmpty()) { // a thread that was paused comes too late
            extended = provider.lock(job(SHORT, Duration.ZERO)).flatMap(lock -> lock.extend(LONG, Duration.ZERO));
        }
        SimpleLock longer = extended.get().extend(SHORT, Duration.ZERO).orElseThrow();
        long begun = System.nanoTime();
        awaitUntil(() -> System.nanoTime() - begun > SHORT.multipliedBy(2).toNanos());
        assertThat(isFreeElsewhere()).isFalse();
        longer.unlock();
        SimpleLock over = provider.lock(job(SHORT, Duration.ZERO)).orElseThrow();
        awaitUntil(this::isFreeElsewhere);
        assertThat(over.extend(LONG, Duration.ZERO)).isEmpty();
        assertThat(isFreeElsewhere()).isTrue();
    }

    @Test
    void theLockIsKeptUntilLockAtLeastFor() {
        long begun = System.nanoTime();
        provider.lock(job(LONG, SHORT)).orElseThrow().unlock();
        awaitUntil(this::isFreeElsewhere);
        assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThanOrEqualTo(SHORT);
    }
}
