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
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A call that hangs delays no other name while a lane is free. */
class LanesTest {

    private static final int LANES = 4;
    private static final Duration LIMIT = Duration.ofSeconds(30);

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void callThatHangsDelaysNoOtherNameWhileALaneIsFree(boolean callerMayWork) throws Exception {
        try (Lanes lanes = lanes(callerMayWork)) {
            Hanging hanging = new Hanging();
            Thread caller = new Thread(() -> lanes.call(new LockName("slow"), hanging::on));
            caller.start();
            hanging.begun.await();
            for (int i = 0; i < 8 * LANES; i++) {
                boolean answered =
                        done(lanes.<Boolean>call(new LockName("name-" + i), work -> work.call(turn -> true)));
                assertThat(answered).isTrue();
            }
            hanging.end.countDown();
            caller.join();
        }
    }

    /** Otherwise a client that has many claims of one name would race against itself, and one locked row could keep all lanes. */
    @Test
    void callsAboutOneNameAtTheSameTimeUseOneLane() throws Exception {
        try (Lanes lanes = lanes(false)) {
            Hanging hanging = new Hanging();
            LockName one = new LockName("one");
            List<CompletableFuture<SerialConnection>> calls = new ArrayList<>();
            calls.add(lanes.call(one, hanging::on).toCompletableFuture());
            hanging.begun.await();
            for (int i = 1; i < LANES; i++) {
                calls.add(lanes.call(one, work -> work).toCompletableFuture());
            }
            for (int i = 0; i < 8 * LANES; i++) {
                boolean answered = done(lanes.<Boolean>call(new LockName("name-" + i), work -> true));
                assertThat(answered).isTrue();
            }
            assertThat(calls).noneMatch(CompletableFuture::isDone);
            hanging.end.countDown();
            SerialConnection first = done(calls.get(0));
            for (CompletableFuture<SerialConnection> call : calls) {
                SerialConnection used = done(call);
                assertThat(used).isSameAs(first);
            }
        }
    }

    /** Each connection is a process or a thread of the server. */
    @Test
    void callsOneAfterAnotherUseOneConnection() throws Exception {
        try (Lanes lanes = lanes(true)) {
            List<SerialConnection> used = new ArrayList<>();
            for (int i = 0; i < 8 * LANES; i++) {
                used.add(done(lanes.call(new LockName("name-" + i), work -> work)));
            }
            assertThat(used.stream().distinct()).hasSize(1);
        }
    }

    @Test
    void callThatFindsAllLanesBusyWaitsForOne() throws Exception {
        try (Lanes lanes = lanes(false)) {
            List<Hanging> all = new ArrayList<>();
            for (int i = 0; all.size() < LANES; i++) {
                Hanging hanging = new Hanging();
                lanes.call(new LockName("slow-" + i), hanging::on);
                hanging.begun.await();
                all.add(hanging);
            }
            CompletableFuture<SerialConnection> waiting =
                    lanes.call(new LockName("late"), work -> work).toCompletableFuture();
            assertThat(waiting).isNotDone();
            all.forEach(hanging -> hanging.end.countDown());
            SerialConnection lane = done(waiting);
            assertThat(lane).isNotNull();
        }
    }

    /** Nor if all others are busy, for a moment. */
    @Test
    void callThatFindsAllLanesBusyWaitsForOneThatDoesNotHang() throws Exception {
        ManualClock clock = new ManualClock();
        try (Lanes lanes = lanes(false, new TimeLimit(LIMIT), clock)) {
            List<Hanging> all = new ArrayList<>();
            for (int i = 0; all.size() < LANES; i++) {
                Hanging call = new Hanging();
                lanes.call(new LockName("busy-" + i), call::on);
                call.begun.await();
                all.add(call);
                clock.advance(Duration.ofMillis(i == 0 ? 101 : 0));
            }
            List<CompletableFuture<Boolean>> waiting = new ArrayList<>();
            for (int i = 0; i < 2 * LANES; i++) {
                waiting.add(lanes.<Boolean>call(new LockName("late-" + i), work -> true)
                        .toCompletableFuture());
            }
            all.subList(1, LANES).forEach(busy -> busy.end.countDown());
            for (CompletableFuture<Boolean> late : waiting) {
                boolean answered = done(late);
                assertThat(answered).isTrue();
            }
            all.get(0).end.countDown();
        }
    }

    private static <T> T done(CompletionStage<T> call) throws Exception {
        return call.toCompletableFuture().get(LIMIT.toSeconds(), TimeUnit.SECONDS);
    }

    /** A call that ends when it is told to. */
    private static final class Hanging {
        private final CountDownLatch begun = new CountDownLatch(1);
        private final CountDownLatch end = new CountDownLatch(1);

        SerialConnection on(SerialConnection work) {
            return work.call(turn -> {
                begun.countDown();
                awaitUninterrupted(end);
                return work;
            });
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
        return lanes(callerMayWork, turns, MonotonicClock.SYSTEM);
    }

    private Lanes lanes(boolean callerMayWork, TimeLimit turns, MonotonicClock clock) {
        Path path = folder.resolve("locks.db");
        SqliteDialect dialect = new SqliteDialect(MonotonicClock.SYSTEM, "boot", path.toString());
        SqliteFile file = new SqliteFile(path, LIMIT, dialect);
        return new Lanes(
                LANES,
                () -> new SerialConnection(
                        file, file.use(), dialect, Duration.ofSeconds(5), LIMIT, MonotonicClock.SYSTEM),
                "test",
                callerMayWork,
                turns,
                clock);
    }

    private static void awaitUninterrupted(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException unexpected) {
            throw new AssertionError(unexpected);
        }
    }
}
