package dev.holdfast.jdbc.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released.Handed;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
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
            public void notifyGranted(List<Handed> granted, SerialConnection work) {}

            @Override
            public void listen(WaiterRegistry waiters, WaitPoller poller) {}

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

    private static boolean isBusy() {
        return Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.getName().equals(THREAD) && thread.getState() != Thread.State.TIMED_WAITING);
    }
}
