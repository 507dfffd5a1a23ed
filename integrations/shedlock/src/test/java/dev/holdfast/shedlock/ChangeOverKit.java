package dev.holdfast.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.testkit.StoreTest;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * The nodes of a change-over, which exclude each other: old ones with ShedLock's own provider, those of the first step with both,
 * and those of the second step with ours alone. The last two are never there together with the first.
 */
abstract class ChangeOverKit {

    private static final Duration MOST = Duration.ofMinutes(10);
    private static final Duration LEAST = Duration.ofMinutes(5);
    private static final int ROUNDS = 10;

    private final List<Holdfast> clients = new ArrayList<>();
    private final String job = "job-" + System.nanoTime();

    /** ShedLock's own provider, as another node has it. */
    abstract ExtensibleLockProvider old();

    abstract Holdfast connect();

    private HoldfastLockProvider ours() {
        Holdfast locks = connect();
        clients.add(locks);
        return new HoldfastLockProvider(locks);
    }

    private LockProvider both() {
        return ours().beside(old());
    }

    @AfterEach
    final void close() {
        clients.forEach(Holdfast::close);
    }

    private Optional<SimpleLock> lock(LockProvider node, Duration atLeast) {
        return node.lock(new LockConfiguration(Instant.now(), job, MOST, atLeast));
    }

    private Optional<SimpleLock> lock(LockProvider node) {
        return lock(node, Duration.ZERO);
    }

    @Test
    final void anOldNodeExcludesOneWithBothAlsoWhenItHasExtended() {
        LockProvider both = both();
        SimpleLock theirs = lock(old()).orElseThrow();
        assertThat(lock(both)).isEmpty();
        SimpleLock extended = theirs.extend(MOST, Duration.ZERO).orElseThrow();
        assertThat(lock(both)).isEmpty();
        extended.unlock();
        assertThat(lock(both)).isPresent();
    }

    /** The same with the lock of ours: a node that has met an old one must leave nothing locked. */
    @Test
    final void whoMeetsAnOldNodeHoldsNothing() {
        SimpleLock theirs = lock(old()).orElseThrow();
        assertThat(lock(both(), LEAST)).isEmpty();
        SimpleLock ours = lock(ours()).orElseThrow();
        ours.unlock();
        theirs.unlock();
    }

    @Test
    final void aNodeWithBothExcludesAllOthers() {
        LockProvider old = old();
        LockProvider ours = ours();
        SimpleLock held = lock(both()).orElseThrow();
        assertThat(List.of(lock(old), lock(both()), lock(ours))).allMatch(Optional::isEmpty);
        SimpleLock extended = held.extend(MOST, Duration.ZERO).orElseThrow();
        assertThat(List.of(lock(old), lock(both()), lock(ours))).allMatch(Optional::isEmpty);
        extended.unlock();
        SimpleLock next = lock(old).orElseThrow();
        next.unlock();
        assertThat(lock(ours)).isPresent();
    }

    @Test
    final void aNodeWithOursExcludesOneWithBoth() {
        LockProvider both = both();
        SimpleLock ours = lock(ours()).orElseThrow();
        assertThat(lock(both)).isEmpty();
        ours.unlock();
        SimpleLock held = lock(both).orElseThrow();
        held.unlock();
        assertThat(lock(old())).isPresent();
    }

    @Test
    final void allKeepLockAtLeastFor() {
        lock(both(), LEAST).orElseThrow().unlock();
        assertThat(List.of(lock(old()), lock(both()), lock(ours()))).allMatch(Optional::isEmpty);
    }

    @Test
    final void allGoOnAfterLockAtLeastFor() {
        lock(both(), Duration.ofMillis(200)).orElseThrow().unlock();
        LockProvider both = both();
        until(() -> lock(both)).unlock();
        lock(old()).orElseThrow().unlock();
        lock(ours()).orElseThrow().unlock();
    }

    private static SimpleLock until(Supplier<Optional<SimpleLock>> attempt) {
        AtomicReference<Optional<SimpleLock>> lock = new AtomicReference<>(Optional.empty());
        StoreTest.awaitUntil(() -> {
            lock.set(attempt.get());
            return lock.get().isPresent();
        });
        return lock.get().orElseThrow();
    }

    @Test
    final void oldNodesAndThoseWithBothExcludeEachOtherUnderContention() throws InterruptedException {
        excludeEachOther(List.of(old(), old(), both(), both()));
    }

    @Test
    final void nodesOfBothStepsExcludeEachOtherUnderContention() throws InterruptedException {
        excludeEachOther(List.of(both(), both(), ours(), ours()));
    }

    private void excludeEachOther(List<LockProvider> nodes) throws InterruptedException {
        AtomicBoolean inside = new AtomicBoolean();
        AtomicInteger rounds = new AtomicInteger();
        Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
        List<Thread> threads = nodes.stream()
                .map(node -> new Thread(() -> {
                    for (int round = 0; round < ROUNDS; round++) {
                        SimpleLock held = until(() -> lock(node));
                        assertThat(inside.getAndSet(true))
                                .as("another one is inside")
                                .isFalse();
                        rounds.incrementAndGet();
                        Thread.yield();
                        inside.set(false);
                        held.unlock();
                    }
                }))
                .toList();
        threads.forEach(thread -> thread.setUncaughtExceptionHandler((where, failure) -> failures.add(failure)));
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(failures).isEmpty();
        assertThat(rounds).hasValue(nodes.size() * ROUNDS);
    }
}
