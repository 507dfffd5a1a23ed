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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Several processes on one file, some of which are killed or frozen. */
class SqliteProcessesTest {

    private static final int MOST_STARTS = 5;

    /** How long a place in the queue, and a grant that is handed over, last for a process that does nothing. */
    private static final String BRIEF = "1s";

    private static final String LONG = "10m";

    @TempDir
    Path folder;

    private final List<ChildJvm> children = new ArrayList<>();

    private String url(String ticketTtl) {
        return "sqlite:" + folder.resolve("locks.db") + "?ticketTtl=" + ticketTtl;
    }

    @AfterEach
    void end() {
        children.forEach(ChildJvm::close);
    }

    @Test
    void processesExcludeAndWakeEachOther() {
        ChildJvm holder = child();
        ChildJvm waiter = child();
        holder.send("acquire door 600000");
        long first = Long.parseLong(holder.expect("granted"));
        waiter.send("acquire door 600000");
        waiter.expect("busy");
        waiter.send("enqueue door 600000");
        waiter.expect("waiting 0");
        holder.send("release");
        holder.expect("released true");
        assertThat(Long.parseLong(waiter.expect("granted"))).isGreaterThan(first);
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
            children.add(ChildJvm.start(LockingProcess.class, url(LONG) + "&busyTimeout=20s"));
        }
        children.forEach(child -> child.expect("ready"));
        children.get(0).send("acquire one 600000");
        children.get(0).expect("granted");
        for (ChildJvm other : children.subList(1, 10)) {
            other.send("acquire one 600000");
            other.expect("busy");
        }
    }

    @Test
    void killedHolderDelaysByItsLeaseOnly() {
        ChildJvm holder = child();
        ChildJvm next = child();
        // The lease may begin as soon as it is requested, long before this process receives the answer.
        long start = System.nanoTime();
        holder.send("acquire door 800");
        holder.expect("granted");
        holder.kill();
        next.send("enqueue door 600000");
        awaitGrant(next);
        assertThat(System.nanoTime() - start)
                .isGreaterThanOrEqualTo(Duration.ofMillis(800).toNanos());
    }

    @Test
    void killedWaiterLeavesNothingBehindItsTicket() {
        ChildJvm holder = child(BRIEF);
        ChildJvm dead = child(BRIEF);
        ChildJvm alive = child();
        queueUp(holder, dead, alive);
        dead.kill();
        holder.send("release");
        holder.expect("released true");
        awaitGrant(alive);
    }

    @Test
    void frozenWaiterHoldsForItsTicketOnlyAndItsRenewalReportsTheEnd() {
        ChildJvm holder = child(BRIEF);
        ChildJvm frozen = child(BRIEF);
        ChildJvm next = child();
        queueUp(holder, frozen, next);
        frozen.pause();
        holder.send("release");
        holder.expect("released true");
        awaitGrant(next);
        frozen.resume();
        frozen.send("renew");
        frozen.expect("renewed Gone");
        next.send("renew");
        next.expect("renewed Granted");
    }

    // One holds, and two wait for it in this order. The first one's ticket ends after a second, which may be
    // too soon on a busy machine; then they begin anew with another name.
    private static void queueUp(ChildJvm holder, ChildJvm first, ChildJvm second) {
        String position = "";
        for (int start = 1; start <= MOST_STARTS && !position.equals("1"); start++) {
            holder.send("acquire door" + start + " 600000");
            holder.expect("granted");
            first.send("enqueue door" + start + " 600000");
            first.expect("waiting 0");
            second.send("enqueue door" + start + " 600000");
            position = second.expect("waiting");
        }
        assertThat(position).isEqualTo("1");
    }

    @Test
    void brokenWaiterIsNotifiedInAnotherProcess() {
        ChildJvm holder = child();
        ChildJvm waiter = child();
        holder.send("acquire door 600000");
        holder.expect("granted");
        waiter.send("enqueue door 600000");
        waiter.expect("waiting");
        try (LockStore operator = new SqliteLockStoreProvider().open(url(LONG), MonotonicClock.SYSTEM)) {
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
        child.send("acquire door 600000");
        child.expect("granted");
        child.send("release");
        child.expect("released true");
        try (LockStore store = new SqliteLockStoreProvider().open(url(LONG), MonotonicClock.SYSTEM)) {
            Claimant alice = new Claimant("alice", Duration.ofMinutes(1));
            assertThat(store.tryAcquire(alice.mutex(new LockName("door")))
                            .toCompletableFuture()
                            .join())
                    .isInstanceOf(Granted.class);
        }
    }

    private ChildJvm child() {
        return child(LONG);
    }

    private ChildJvm child(String ticketTtl) {
        ChildJvm child = ChildJvm.start(LockingProcess.class, url(ticketTtl));
        children.add(child);
        child.expect("ready");
        return child;
    }

    /** Refreshes a waiter's ticket, as its engine would, until it is granted: long before the leases of the others are over. */
    private static void awaitGrant(ChildJvm waiter) {
        long start = System.nanoTime();
        String line = "";
        while (!line.startsWith("granted") && !line.equals("renewed Granted")) {
            assertThat(System.nanoTime() - start).isLessThan(ChildJvm.PATIENCE.toNanos());
            LockSupport.parkNanos(Duration.ofMillis(50).toNanos());
            waiter.send("renew");
            line = waiter.readLine();
        }
    }
}
