package dev.holdfast.jdbc.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.jdbc.sqlite.SqliteDialect;
import dev.holdfast.jdbc.sqlite.SqliteFile;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.store.TimeLimit;
import dev.holdfast.testkit.ManualClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A call that hangs delays the names of its own lane only. */
class LanesTest {

    private static final int LANES = 4;
    private static final Duration LIMIT = Duration.ofSeconds(30);

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void callAboutOneNameDoesNotDelayThoseOfOtherLanes(boolean callerMayWork) throws Exception {
        try (Lanes lanes = lanes(callerMayWork)) {
            CountDownLatch hanging = new CountDownLatch(1);
            CountDownLatch end = new CountDownLatch(1);
            LockName slow = new LockName("slow");
            Thread caller = new Thread(() -> lanes.call(
                    slow,
                    work -> work.call(turn -> {
                        hanging.countDown();
                        awaitUninterrupted(end);
                        return true;
                    })));
            caller.start();
            hanging.await();
            for (LockName name : namesOfOtherLanes(slow)) {
                CompletableFuture<Boolean> call =
                        lanes.call(name, work -> work.call(turn -> true)).toCompletableFuture();
                assertThat(call.get(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
            }
            end.countDown();
            caller.join();
        }
    }

    @Test
    void callsAboutOneNameUseOneConnection() throws Exception {
        try (Lanes lanes = lanes(false)) {
            List<SerialConnection> used = new ArrayList<>();
            for (int i = 0; i < 2 * LANES; i++) {
                used.add(lanes.call(new LockName("one"), work -> work)
                        .toCompletableFuture()
                        .get(LIMIT.toSeconds(), TimeUnit.SECONDS));
            }
            assertThat(used.stream().distinct()).hasSize(1);
        }
    }

    /** Otherwise many calls that wait for one thread would each wait for the time limits of all before it. */
    @Test
    void callThatWaitsForTheThreadOfItsLaneTooLongIsNotMade() throws Exception {
        ManualClock clock = new ManualClock();
        Queue<Runnable> sweeps = new ConcurrentLinkedQueue<>();
        try (Lanes lanes = lanes(false, new TimeLimit(LIMIT, clock, delay -> sweeps::add))) {
            CountDownLatch begun = new CountDownLatch(1);
            CountDownLatch end = new CountDownLatch(1);
            LockName one = new LockName("one");
            lanes.call(one, work -> {
                begun.countDown();
                awaitUninterrupted(end);
                return true;
            });
            begun.await();
            CompletableFuture<Boolean> late = lanes.call(one, work -> true).toCompletableFuture();
            clock.advance(LIMIT);
            sweeps.remove().run();
            end.countDown();
            assertThatThrownBy(() -> late.get(LIMIT.toSeconds(), TimeUnit.SECONDS))
                    .cause()
                    .isInstanceOfSatisfying(
                            StoreException.class,
                            failure -> assertThat(failure.effect()).isEqualTo(StoreException.Effect.NONE));
        }
    }

    private Lanes lanes(boolean callerMayWork) {
        return lanes(callerMayWork, new TimeLimit(LIMIT));
    }

    private Lanes lanes(boolean callerMayWork, TimeLimit turns) {
        Path path = folder.resolve("locks.db");
        SqliteDialect dialect = new SqliteDialect(MonotonicClock.SYSTEM, "boot", path.toString());
        SqliteFile file = new SqliteFile(path, LIMIT, dialect);
        return new Lanes(
                LANES,
                () -> new SerialConnection(file, dialect, Duration.ofSeconds(5), LIMIT, MonotonicClock.SYSTEM),
                "test",
                callerMayWork,
                turns);
    }

    private static List<LockName> namesOfOtherLanes(LockName name) {
        List<LockName> others = new ArrayList<>();
        int lane = Math.floorMod(name.hashCode(), LANES);
        for (int i = 0; others.size() < 3 * LANES; i++) {
            LockName other = new LockName("name-" + i);
            if (Math.floorMod(other.hashCode(), LANES) != lane) {
                others.add(other);
            }
        }
        return others;
    }

    private static void awaitUninterrupted(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException unexpected) {
            throw new AssertionError(unexpected);
        }
    }
}
