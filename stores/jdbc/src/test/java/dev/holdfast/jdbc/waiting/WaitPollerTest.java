package dev.holdfast.jdbc.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.JdbcLockStoreProvider;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.jdbc.dialect.H2Dialect;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.StoreTest;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Test;

/** The thread that polls. */
class WaitPollerTest {

    private static final String THREAD = "poller-without-waiters";

    /**
     * A listener that begins to listen, or whose connection breaks, asks for a look at all rows, perhaps when the last waiter has
     * just been granted. Before, the thread then ran without a pause until the next claim was enqueued.
     */
    @Test
    void aLookAtAllRowsWhenNobodyWaitsDoesNotKeepAProcessorBusy() {
        WaitPoller poller = WaitPoller.ofRows(
                null, new WaiterRegistry(), WaiterNotifier.NONE, Duration.ofSeconds(5), MonotonicClock.SYSTEM, THREAD);
        poller.lookNow();
        try {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
            boolean busy = true;
            while (busy && System.nanoTime() - end < 0) {
                Thread.yield();
                busy = isBusy();
            }
            assertThat(busy).isFalse();
        } finally {
            poller.close();
        }
    }

    /** Before, the thread ended, and no claim of the client was looked for any more. */
    @Test
    void whatIsThrownDuringAPollDoesNotEndTheThread() throws InterruptedException {
        CountDownLatch polls = new CountDownLatch(2);
        WaiterNotifier failing = new WaiterNotifier() {
            @Override
            public void check(SerialConnection work) {}

            @Override
            public void notifyWaiters(List<ClaimId> claims, SerialConnection work) {}

            @Override
            public void listen(ClaimId claim, WaiterRegistry waiters, WaitPoller poller) {}

            // Asked for each poll.
            @Override
            public boolean isListening() {
                if (Thread.currentThread().getName().equals(THREAD)) {
                    polls.countDown();
                    throw new OutOfMemoryError("by the test");
                }
                return false;
            }

            @Override
            public void close() {}
        };
        WaitPoller poller = WaitPoller.ofRows(
                null, new WaiterRegistry(), failing, Duration.ofSeconds(5), MonotonicClock.SYSTEM, THREAD);
        try {
            poller.enqueued(new LockName("one"), 0);
            assertThat(polls.await(20, TimeUnit.SECONDS)).isTrue();
        } finally {
            poller.close();
        }
    }

    /** What the schedule predicts by. */
    @Test
    void theScheduleLearnsHowLongGrantsAreHeld() throws Exception {
        String url = "jdbc:h2:mem:poller;DB_CLOSE_DELAY=-1";
        Claimant alice = new Claimant("alice", Duration.ofMinutes(1));
        Claim holder = alice.mutex(new LockName("a"));
        Claim waiter = new Claimant("bob", Duration.ofMinutes(1)).mutex(holder.name());
        Duration time = Duration.ofSeconds(5);
        JdbcDataSource database = new JdbcDataSource();
        database.setURL(url);
        BlockingQueue<LockName> held = new LinkedBlockingQueue<>();
        WaiterRegistry waiters = new WaiterRegistry();
        RecordingListener listener = new RecordingListener();
        // Nobody refreshes the ticket meanwhile.
        try (LockStore store =
                        new JdbcLockStoreProvider().open(url + "?holdfast.ticketTtl=10m", MonotonicClock.SYSTEM);
                ConnectionPool pool = new ConnectionPool(database, H2Dialect.PREPARES, 1, url, time, "test");
                SerialConnection connection =
                        new SerialConnection(pool, pool.use(), new H2Dialect(url), time, time, MonotonicClock.SYSTEM);
                WaitPoller poller = new WaitPoller(
                        connection, waiters, new OneRow(holder.name(), held), time, MonotonicClock.SYSTEM, "one-row")) {
            store.tryAcquire(holder).toCompletableFuture().join();
            store.enqueue(waiter, new RecordingListener());
            waiters.add(new WaiterRegistry.Waiter(waiter, listener, waiters));
            poller.enqueued(holder.name(), 0);
            poller.released(holder); // no poll has found that it was granted
            store.release(holder).toCompletableFuture().join();
            StoreTest.awaitGrant(listener);
            poller.released(waiter);
            poller.enqueued(holder.name(), 0);
            assertThat(held.poll(20, TimeUnit.SECONDS)).isEqualTo(holder.name());
            assertThat(held).isEmpty();
        }
    }

    /** Reads the one row each millisecond. */
    private record OneRow(LockName name, BlockingQueue<LockName> releases) implements PollSchedule {

        @Override
        public long firstNanos(int position) {
            return 0;
        }

        @Override
        public void enqueued(LockName enqueued, int position, long now) {}

        @Override
        public Collection<LockName> due(SerialConnection connection, long now) {
            return List.of(name);
        }

        @Override
        public void read(LockName read, int position, boolean granted, long now) {}

        @Override
        public void unchanged(LockName read, long now) {}

        @Override
        public void held(LockName released, long nanos) {
            releases.add(released);
        }

        @Override
        public void allAreDue() {}

        @Override
        public long pauseNanos(long now) {
            return TimeUnit.MILLISECONDS.toNanos(1);
        }
    }

    private static boolean isBusy() {
        return Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.getName().equals(THREAD) && thread.getState() != Thread.State.TIMED_WAITING);
    }
}
