package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.testkit.process.ChildJvm;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Several names, all or none. */
class SeveralTest extends Servers {

    private static final String[] A = {"share_a", "share_b", "share_c", "A_d", "A_e", "A_f"};
    private static final String[] B = {"B_f", "share_c", "B_e", "share_b", "share_a", "B_d"};

    /** Two businesses share three resources, and name them in different orders. */
    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql", "h2"})
    void twoBusinessesShareResources(String product) throws Exception {
        String url = url(product);
        AtomicInteger inside = new AtomicInteger();
        ExecutorService threads = Executors.newFixedThreadPool(6);
        List<Future<Integer>> businesses = new ArrayList<>();
        try (Holdfast a = Holdfast.connect(url);
                Holdfast b = Holdfast.connect(url)) {
            for (int i = 0; i < 6; i++) {
                Holdfast locks = i % 2 == 0 ? a : b;
                String[] names = i % 2 == 0 ? A : B;
                businesses.add(threads.submit(() -> work(locks, names, inside)));
            }
            for (Future<Integer> business : businesses) {
                assertThat(business.get(100, TimeUnit.SECONDS)).isEqualTo(15);
            }
            assertThat(a.list("", 100)).isEmpty();
        } finally {
            threads.shutdownNow();
        }
    }

    private static int work(Holdfast locks, String[] names, AtomicInteger inside) throws InterruptedException {
        int done = 0;
        for (int i = 0; i < 15; i++) {
            try (Lease ignored = locks.multiLock(names).acquire()) {
                assertThat(inside.incrementAndGet()).isEqualTo(1);
                inside.decrementAndGet();
                done++;
            }
        }
        return done;
    }

    /** A business that died is not waited for when its lease is over. */
    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void resourcesOfADeadBusinessAreTakenOver(String product) throws Exception {
        String url = url(product);
        try (Holdfast b = Holdfast.connect(url)) {
            Holdfast a = Holdfast.connect(url);
            LockOptions fixed = LockOptions.defaults().withFixedLease(LONG);
            Lease dead = a.multiLock(List.of(A), fixed).acquire();
            assertThat(dead.isValid()).isTrue();
            assertThat(b.multiLock(B).tryAcquire()).isEmpty();
            // Its lease is over from one moment to the next, however long this test has paused before.
            run(url, "UPDATE holdfast_lock SET expires = 1, version = version + 1");
            try (Lease living = b.multiLock(B).acquire(Duration.ofSeconds(60))) {
                assertThat(living.isValid()).isTrue();
            }
            a.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void processesInRandomOrders(String product) throws Exception {
        String url = url(product);
        open(url);
        SeveralProcess.prepare(url);
        List<ChildJvm> processes = new ArrayList<>();
        try {
            for (int i = 1; i <= 3; i++) {
                // While many JVMs start, a server may seem not to answer in time.
                String patient = url + "&holdfast.busyTimeout=1m";
                processes.add(ChildJvm.start(SeveralProcess.class, patient, Integer.toString(i), "4"));
            }
            for (ChildJvm process : processes) {
                process.expect("ready");
            }
            for (ChildJvm process : processes) {
                process.send("go");
            }
            for (ChildJvm process : processes) {
                assertThat(Integer.parseInt(process.expect("done").strip())).isPositive();
            }
        } finally {
            processes.forEach(ChildJvm::close);
        }
    }
}
