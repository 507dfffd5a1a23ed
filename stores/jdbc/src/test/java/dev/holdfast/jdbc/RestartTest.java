package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.StoreUnavailableException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The database is killed again and again while several clients hold, wait, hand over and take several names. */
class RestartTest extends Servers {

    private static final int CLIENTS = 2;
    private static final int THREADS = 3;
    private static final int RESTARTS = 2;

    /**
     * The lease is short, because after a crash that lost a release without a hand-over the test waits for its end.
     */
    private static final LockOptions OPTIONS = LockOptions.defaults().withLease(Duration.ofSeconds(4));

    private static final List<String> NAMES = List.of("a", "b", "c");

    private final AtomicReferenceArray<Lease> inside = new AtomicReferenceArray<>(NAMES.size());
    private final AtomicInteger done = new AtomicInteger();
    private final AtomicBoolean over = new AtomicBoolean();

    private record Server(String url, Runnable kill, Runnable startAgain) {}

    private Server server(String product) {
        if (product.equals("postgresql")) {
            PostgresServer server = closing(PostgresServer.start());
            return new Server(server.newSchema(), server::kill, server::startAgain);
        }
        MariaDbServer server = closing(MariaDbServer.start());
        return new Server(server.mariaUrl(server.newDatabase()), server::kill, server::startAgain);
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void noTwoHoldersAndNothingLeft(String product) throws Exception {
        Server server = server(product);
        ExecutorService threads = Executors.newFixedThreadPool(CLIENTS * THREADS);
        List<Future<?>> tasks = new ArrayList<>();
        try {
            for (int i = 0; i < CLIENTS; i++) {
                Holdfast locks = closing(Holdfast.connect(server.url() + "&holdfast.busyTimeout=2s"));
                for (int j = 0; j < THREADS; j++) {
                    int thread = j;
                    tasks.add(threads.submit(() -> work(locks, thread)));
                }
            }
            for (int i = 0; i < RESTARTS; i++) {
                int before = done.get();
                awaitUntil(() -> done.get() > before + 30);
                server.kill().run();
                server.startAgain().run();
            }
            int before = done.get();
            awaitUntil(() -> done.get() > before + 30);
            over.set(true);
            for (Future<?> task : tasks) {
                task.get(60, TimeUnit.SECONDS);
            }
        } finally {
            over.set(true);
            threads.shutdownNow();
        }
        // What was released while the server was away is released again in the background.
        try (Holdfast after = Holdfast.connect(server.url())) {
            awaitUntil(() -> after.list("", 100).isEmpty());
        }
    }

    private void work(Holdfast locks, int thread) {
        for (int i = thread; !over.get(); i++) {
            try {
                if (i % 3 == 0) {
                    enter(locks.multiLock(NAMES, OPTIONS).acquire(), List.of(0, 1, 2));
                } else {
                    enter(locks.lock(NAMES.get(i % 2), OPTIONS).acquire(), List.of(i % 2));
                }
                done.incrementAndGet();
            } catch (StoreUnavailableException | LockLostException serverIsAway) {
                continue;
            } catch (InterruptedException end) {
                return;
            }
        }
    }

    private void enter(Lease lease, List<Integer> names) {
        try (lease) {
            for (int name : names) {
                Lease other = inside.getAndSet(name, lease);
                assertThat(other == null || !other.isValid() || !lease.isValid())
                        .as("%s and %s at once", other, lease)
                        .isTrue();
            }
            Thread.onSpinWait();
            names.forEach(name -> inside.compareAndSet(name, lease, null));
        }
    }
}
