package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.process.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Several processes on one file, some of which are killed or frozen. */
@Timeout(120)
class SqliteProcessesTest {

    private static final int MOST_STARTS = 5;

    @TempDir
    Path folder;

    private final List<ChildJvm> children = new ArrayList<>();
    private String url;

    @BeforeEach
    void url() {
        url = "sqlite:" + folder.resolve("locks.db") + "?ticketTtl=1s";
    }

    @AfterEach
    void end() {
        children.forEach(ChildJvm::close);
    }

    @Test
    void processesExcludeAndWakeEachOther() {
        ChildJvm holder = child();
        ChildJvm waiter = child();
        holder.send("acquire door 60000");
        long first = Long.parseLong(holder.expect("granted"));
        waiter.send("acquire door 60000");
        waiter.expect("busy");
        waiter.send("enqueue door 60000");
        waiter.expect("waiting 0");
        holder.send("release");
        holder.expect("released true");
        assertThat(Long.parseLong(waiter.expect("granted", Duration.ofMillis(900))))
                .isGreaterThan(first);
    }

    @Test
    void noAdditionIsLost() throws IOException {
        Path number = folder.resolve("number");
        Files.writeString(number, "0");
        for (int i = 0; i < 4; i++) {
            child();
        }
        children.forEach(child -> child.send("count counter " + number + " 150"));
        children.forEach(child -> child.expect("counted", Duration.ofSeconds(60)));
        assertThat(Files.readString(number)).isEqualTo("600");
    }

    @Test
    void filesAreMadeOnceByManyProcesses() {
        for (int i = 0; i < 10; i++) {
            children.add(ChildJvm.start(LockingProcess.class, url + "&busyTimeout=20s"));
        }
        children.forEach(child -> child.expect("ready"));
        children.get(0).send("acquire one 60000");
        children.get(0).expect("granted");
        for (ChildJvm other : children.subList(1, 10)) {
            other.send("acquire one 60000");
            other.expect("busy");
        }
    }

    @Test
    void killedHolderDelaysByItsLeaseOnly() {
        ChildJvm holder = child();
        // The lease may begin as soon as it is requested, long before this process receives the answer.
        long start = System.nanoTime();
        holder.send("acquire door 800");
        holder.expect("granted");
        holder.kill();
        ChildJvm next = child();
        next.send("enqueue door 60000");
        awaitGrant(next, start, Duration.ofMillis(800), Duration.ofSeconds(10));
    }

    @Test
    void killedWaiterLeavesNothingBehindItsTicket() {
        ChildJvm holder = child();
        ChildJvm dead = child();
        ChildJvm alive = child();
        queueUp(holder, dead, alive);
        dead.kill();
        long start = System.nanoTime();
        holder.send("release");
        holder.expect("released true");
        awaitGrant(alive, start, Duration.ZERO, Duration.ofSeconds(5));
    }

    @Test
    void frozenWaiterHoldsForItsTicketOnlyAndItsRenewalReportsTheEnd() {
        ChildJvm holder = child();
        ChildJvm frozen = child();
        ChildJvm next = child();
        queueUp(holder, frozen, next);
        frozen.pause();
        long start = System.nanoTime();
        holder.send("release");
        holder.expect("released true");
        awaitGrant(next, start, Duration.ZERO, Duration.ofSeconds(5));
        frozen.resume();
        frozen.send("renew");
        frozen.expect("renewed Gone");
        next.send("renew");
        next.expect("renewed Granted");
    }

    // One holds, and two wait for it in this order. The first one's ticket ends after a second, which may be too soon
    // on
    // a busy machine; then they begin anew with another name.
    private static void queueUp(ChildJvm holder, ChildJvm first, ChildJvm second) {
        String position = "";
        for (int start = 1; start <= MOST_STARTS && !position.equals("1"); start++) {
            holder.send("acquire door" + start + " 60000");
            holder.expect("granted");
            first.send("enqueue door" + start + " 60000");
            first.expect("waiting 0");
            second.send("enqueue door" + start + " 60000");
            position = second.expect("waiting");
        }
        assertThat(position).isEqualTo("1");
    }

    @Test
    void brokenWaiterIsNotifiedInAnotherProcess() {
        ChildJvm holder = child();
        ChildJvm waiter = child();
        holder.send("acquire door 60000");
        holder.expect("granted");
        waiter.send("enqueue door 60000");
        waiter.expect("waiting");
        try (LockStore operator = new SqliteLockStoreProvider().open(url, MonotonicClock.SYSTEM)) {
            ResourceState state = operator.inspect(new LockName("door"))
                    .toCompletableFuture()
                    .join()
                    .orElseThrow();
            operator.release(state.waiters().get(0).claim())
                    .toCompletableFuture()
                    .join();
        }
        assertThat(waiter.expect("ended")).isEqualTo(Renewed.Reason.RELEASED.toString());
    }

    @Test
    void lockIsFreeForThisProcessAfterAnotherReleasedIt() {
        ChildJvm child = child();
        child.send("acquire door 60000");
        child.expect("granted");
        child.send("release");
        child.expect("released true");
        try (LockStore store = new SqliteLockStoreProvider().open(url, MonotonicClock.SYSTEM)) {
            Claimant alice = new Claimant("alice", Duration.ofMinutes(1));
            assertThat(store.tryAcquire(alice.mutex(new LockName("door")))
                            .toCompletableFuture()
                            .join())
                    .isInstanceOf(Granted.class);
        }
    }

    private ChildJvm child() {
        ChildJvm child = ChildJvm.start(LockingProcess.class, url);
        children.add(child);
        child.expect("ready");
        return child;
    }

    /** Refreshes a waiter's ticket, as its engine would, until it is granted. */
    private static void awaitGrant(ChildJvm waiter, long start, Duration least, Duration most) {
        String line = "";
        while (!line.startsWith("granted") && !line.equals("renewed Granted")) {
            assertThat(System.nanoTime() - start).isLessThan(most.toNanos());
            LockSupport.parkNanos(Duration.ofMillis(50).toNanos());
            waiter.send("renew");
            line = waiter.readLine();
        }
        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(least.toNanos());
    }
}
