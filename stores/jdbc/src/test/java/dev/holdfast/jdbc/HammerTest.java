package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.Seeds;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.function.Supplier;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Many threads over several connections at once. */
class HammerTest {

    private static final int THREADS = 16;
    private static final int STORES = 4;

    /** How often a call that was refused is made again. */
    private static final int MOST_TRIES = 100;

    @TempDir
    Path folder;

    private String url;

    private interface Task {
        void run(LockStore store, int thread) throws Exception;
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "serializable", "mariadb", "mysql"})
    void oneHolderAtATime(String product) throws Exception {
        int times = rounds(product, 50);
        int[] shared = new int[1];
        List<Long> counters = Collections.synchronizedList(new ArrayList<>());
        onAllThreads(product, (store, thread) -> {
            Claimant me = new Claimant("t" + thread, Duration.ofMinutes(1));
            for (int done = 0; done < times; ) {
                Claim claim = me.mutex(new LockName("one"));
                if (answered(() -> store.tryAcquire(claim)) instanceof Granted granted) {
                    int before = shared[0];
                    counters.add(granted.counter());
                    Thread.onSpinWait();
                    shared[0] = before + 1;
                    assertThat(answered(() -> store.release(claim)).wasOwner()).isTrue();
                    done++;
                }
            }
        });
        assertThat(shared[0]).isEqualTo(THREADS * times);
        assertThat(counters).isSorted().doesNotHaveDuplicates();
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "serializable", "mariadb", "mysql"})
    void freshNamesAreTakenOnce(String product) throws Exception {
        AtomicIntegerArray grants = new AtomicIntegerArray(rounds(product, 200));
        CyclicBarrier together = new CyclicBarrier(THREADS);
        onAllThreads(product, (store, thread) -> {
            Claimant me = new Claimant("t" + thread, Duration.ofMinutes(1));
            for (int i = 0; i < grants.length(); i++) {
                together.await(60, TimeUnit.SECONDS);
                Claim claim = me.mutex(new LockName("fresh-" + i));
                if (answered(() -> store.tryAcquire(claim)) instanceof Granted) {
                    grants.incrementAndGet(i);
                }
            }
        });
        for (int i = 0; i < grants.length(); i++) {
            assertThat(grants.get(i)).as("grants of name %d", i).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"sqlite", "h2", "postgresql", "serializable", "mariadb", "mysql"})
    void severalAreTakenWholeInAnyOrder(String product) throws Exception {
        AtomicIntegerArray holders = new AtomicIntegerArray(6);
        onAllThreads(product, (store, thread) -> {
            Claimant me = new Claimant("t" + thread, Duration.ofMinutes(1));
            Random random = new Random(Seeds.of("several " + thread));
            for (int i = 0; i < rounds(product, 40); i++) {
                List<Integer> chosen = new ArrayList<>(List.of(0, 1, 2, 3, 4, 5));
                Collections.shuffle(chosen, random);
                List<Integer> names = chosen.subList(0, 3);
                List<Claim> claims = names.stream()
                        .map(name -> me.mutex(new LockName("several-" + name)))
                        .toList();
                List<Attempt> attempts = answered(() -> store.tryAcquireAll(claims));
                if (attempts.get(0) instanceof Granted) {
                    names.forEach(
                            name -> assertThat(holders.incrementAndGet(name)).isEqualTo(1));
                    names.forEach(holders::decrementAndGet);
                    claims.forEach(claim -> answered(() -> store.release(claim)));
                }
            }
        });
        try (LockStore store = open(product)) {
            assertThat(store.list("several-", 10).toCompletableFuture().join()).isEmpty();
        }
    }

    // As the engine does: on a busy machine the server may have suspended a transaction of another thread that
    // keeps the row locked, for longer than a call waits for that.
    private static <T> T answered(Supplier<CompletionStage<T>> call) {
        for (int tries = 1; ; tries++) {
            try {
                return call.get().toCompletableFuture().join();
            } catch (CompletionException failure) {
                if (StoreException.of(failure).effect() != Effect.NONE || tries == MOST_TRIES) {
                    throw failure;
                }
            }
        }
    }

    // A statement that goes to a server costs many times one that does not.
    private static int rounds(String product, int embedded) {
        return product.equals("sqlite") || product.equals("h2") ? embedded : embedded / 5;
    }

    private void onAllThreads(String product, Task task) throws Exception {
        List<LockStore> stores = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try (LockStore keepsTheDatabaseInMemory = open(product)) {
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                if (i < STORES) {
                    stores.add(open(product));
                }
                int thread = i;
                running.add(threads.submit(() -> {
                    task.run(stores.get(thread % STORES), thread);
                    return true;
                }));
            }
            for (Future<?> one : running) {
                one.get(100, TimeUnit.SECONDS);
            }
        } finally {
            threads.shutdownNow();
            stores.forEach(LockStore::close);
        }
    }

    private LockStore open(String product) {
        if (url == null) {
            url = switch (product) {
                case "sqlite" -> "sqlite:" + folder.resolve("locks.db");
                case "h2" -> "jdbc:h2:mem:hammer" + folder.getFileName() + ";DB_CLOSE_DELAY=-1";
                default -> Servers.url(product);
            };
        }
        return product.equals("sqlite")
                ? new SqliteLockStoreProvider().open(url, MonotonicClock.SYSTEM)
                : new JdbcLockStoreProvider().open(url, MonotonicClock.SYSTEM);
    }
}
