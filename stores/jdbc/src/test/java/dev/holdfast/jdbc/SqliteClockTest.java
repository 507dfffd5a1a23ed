package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.jdbc.sqlite.BootId;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.WrappedClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What time does to a file of SQLite, and what it does not. */
class SqliteClockTest {

    private static final LockName NAME = new LockName("door");

    @TempDir
    Path folder;

    private final Claimant alice = new Claimant("alice", Duration.ofHours(1));
    private final Claimant bob = new Claimant("bob", Duration.ofHours(1));

    @Test
    void whatWasGrantedBeforeARebootIsOver() {
        ManualClock before = new ManualClock(1);
        Claim holder = alice.mutex(NAME);
        Claim waiter = alice.mutex(NAME);
        long counter;
        try (LockStore store = open(before, "boot-1")) {
            counter = granted(store, holder).counter();
            store.enqueue(waiter, new RecordingListener());
            assertThat(acquire(store, bob.mutex(NAME))).isInstanceOf(Attempt.Busy.class);
        }
        ManualClock after = new ManualClock(2);
        after.stepWallClock(Duration.ofMinutes(1));
        try (LockStore store = open(after, "boot-2")) {
            assertThat(store.list("", 10).toCompletableFuture().join()).isEmpty();
            assertThat(store.inspect(NAME).toCompletableFuture().join()).isEmpty();
            assertThat(renew(store, holder)).isInstanceOf(Renewed.Gone.class);
            assertThat(renew(store, waiter)).isInstanceOf(Renewed.Gone.class);
            assertThat(granted(store, bob.mutex(NAME)).counter()).isGreaterThan(counter);
        }
    }

    @Test
    void soleHolderOfAnEarlierBootIsOverToo() {
        long counter;
        try (LockStore store = open(new ManualClock(3), "boot-1")) {
            counter = granted(store, alice.mutex(NAME)).counter();
        }
        ManualClock after = new ManualClock(4);
        // The wall clock may even have gone back meanwhile: the counter does not.
        after.stepWallClock(Duration.ofDays(-5));
        try (LockStore store = open(after, "boot-2")) {
            assertThat(granted(store, bob.mutex(NAME)).counter()).isGreaterThan(counter);
        }
    }

    @Test
    void stepsOfTheWallClockEndNothing() {
        ManualClock clock = new ManualClock(5);
        try (LockStore store = open(clock, "boot")) {
            Claim holder = alice.mutex(NAME);
            long counter = granted(store, holder).counter();
            for (Duration step : List.of(Duration.ofDays(400), Duration.ofDays(-900), Duration.ofDays(100))) {
                clock.stepWallClock(step);
                assertThat(acquire(store, bob.mutex(NAME))).isInstanceOf(Attempt.Busy.class);
                assertThat(renew(store, holder)).isInstanceOf(Granted.class);
            }
            store.release(holder).toCompletableFuture().join();
            long next = granted(store, bob.mutex(NAME)).counter();
            assertThat(next).isGreaterThan(counter);
        }
    }

    @Test
    void processWithAnEarlierClockIsRefused() {
        ManualClock clock = new ManualClock(6);
        open(clock, "boot").close();
        MonotonicClock behind = new WrappedClock(clock) {
            @Override
            public long nanoTime() {
                return super.nanoTime() - 1;
            }
        };
        assertThatThrownBy(() -> open(behind, "boot"))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("time namespace");
    }

    /**
     * Two virtual machines that share a folder, or two values of the option. Before, each took what the other had written for void,
     * so that both could hold a lock for as long as they liked.
     */
    @Test
    void processOfAnotherBootEndsTheWorkOfThisOne() {
        try (LockStore here = open(new ManualClock(7), "boot-1")) {
            Claim sole = alice.mutex(NAME);
            granted(here, sole);
            Claim shared = alice.read(new LockName("shared"));
            granted(here, alice.read(shared.name()));
            granted(here, shared);
            try (LockStore there = open(new ManualClock(8), "boot-2")) {
                Claim another = bob.mutex(NAME);
                granted(there, another);
                for (Claim claim : List.of(sole, shared)) {
                    assertThat(renew(here, claim))
                            .isInstanceOfSatisfying(
                                    Renewed.Failed.class,
                                    failed -> assertThat(failed.cause()).hasMessageContaining("another boot id"));
                }
                for (String name : List.of("door", "shared", "new")) {
                    assertThatThrownBy(() -> acquire(here, alice.mutex(new LockName(name))))
                            .hasRootCauseInstanceOf(StoreException.class)
                            .hasMessageContaining("another boot id");
                }
                assertThat(renew(there, another)).isInstanceOf(Granted.class);
            }
        }
    }

    /**
     * Before, the clients of the first boot id went on when it came back, and counted from the time that it had at first: by
     * that, what was granted since was over long ago, so that two held one lock.
     */
    @Test
    void processOfABootThatCameBackStaysEnded() {
        ManualClock clock = new ManualClock(9);
        try (LockStore here = open(clock, "boot-1")) {
            granted(here, alice.mutex(new LockName("other")));
            clock.advance(Duration.ofDays(1));
            open(clock, "boot-2").close();
            try (LockStore back = open(clock, "boot-1")) {
                granted(back, bob.mutex(NAME));
                assertThatThrownBy(() -> acquire(here, alice.mutex(NAME)))
                        .hasRootCauseInstanceOf(StoreException.class)
                        .hasMessageContaining("another boot id");
            }
        }
    }

    /** A client that shares the connections of such a process is refused, too. */
    @Test
    void clientOfAProcessWhoseBootIsNoLongerTheFilesIsRefused() {
        ManualClock clock = new ManualClock(10);
        String url = "sqlite:" + folder.resolve("locks.db") + "?boot=boot-1";
        try (LockStore here = new SqliteLockStoreProvider().open(url, clock)) {
            granted(here, alice.mutex(NAME));
            open(clock, "boot-2").close();
            assertThatThrownBy(() -> new SqliteLockStoreProvider().open(url, clock))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("another boot id");
        }
        try (LockStore back = new SqliteLockStoreProvider().open(url, clock)) {
            granted(back, bob.mutex(new LockName("later")));
        }
    }

    @Test
    void bootIdOfThisHostStaysTheSame() {
        assertThat(BootId.ofThisHost()).isNotBlank().isEqualTo(BootId.ofThisHost());
    }

    private RowLockStore open(MonotonicClock clock, String boot) {
        return SqliteLockStoreProvider.open(folder.resolve("locks.db"), StoreOptions.DEFAULTS, clock, boot);
    }

    private static Granted granted(LockStore store, Claim claim) {
        Attempt attempt = acquire(store, claim);
        assertThat(attempt).isInstanceOf(Granted.class);
        return (Granted) attempt;
    }

    private static Attempt acquire(LockStore store, Claim claim) {
        return store.tryAcquire(claim).toCompletableFuture().join();
    }

    private static Renewed renew(LockStore store, Claim claim) {
        return store.renew(List.of(claim)).toCompletableFuture().join().get(0);
    }
}
