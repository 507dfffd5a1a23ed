package dev.holdfast.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.StoreTest;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Calls of blocking clients that wait for a thread. */
class BlockingCallsTest extends StoreTest {

    private static final Duration LIMIT = Duration.ofSeconds(2);

    private final ManualClock clock = new ManualClock();
    private final Deque<Runnable> sweeps = new ArrayDeque<>();
    private final CountDownLatch began = new CountDownLatch(1);
    private final CountDownLatch mayEnd = new CountDownLatch(1);

    private final BlockingCalls calls =
            closing(new BlockingCalls("test", 1, false, new TimeLimit(LIMIT, clock, delay -> sweeps::add)));

    @Test
    void whoWaitsTooLongForAThreadIsNotSentAtAll() throws InterruptedException {
        CompletionStage<String> hanging = calls.call(this::hang);
        began.await();
        CompletionStage<String> waiting = calls.call(() -> "must not run");
        clock.advance(LIMIT.plusMillis(1));
        sweeps.remove().run();
        StoreException failure = failure(waiting);
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).isTrue();
        CompletionStage<String> next = calls.call(() -> "next");
        mayEnd.countDown();
        assertThat(get(hanging)).isEqualTo("done");
        assertThat(get(next)).isEqualTo("next");
    }

    @Test
    void whatIsRefusedIsForgottenAtOnce() {
        calls.close();
        assertThat(failure(calls.call(() -> "must not run")).effect()).isEqualTo(Effect.NONE);
        sweeps.remove().run();
        assertThat(sweeps).as("nothing is under way").isEmpty();
    }

    /** As if the process had too many. A pool whose threads have ended starts one for the next call. */
    @Test
    void callForWhichNoThreadCanBeStartedFailsAndNextOneIsMade() {
        AtomicInteger asked = new AtomicInteger();
        BlockingCalls poor = closing(new BlockingCalls("poor", 1, false, null, work -> {
            if (asked.getAndIncrement() == 0) {
                throw new OutOfMemoryError("unable to create native thread (of the test)");
            }
            return new Thread(work);
        }));
        StoreException failure = failure(poor.call(() -> "must not run"));
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure).hasMessageContaining("no thread could be started");
        assertThat(get(poor.call(() -> "next"))).isEqualTo("next");
    }

    private String hang() {
        try {
            began.countDown();
            mayEnd.await();
            return "done";
        } catch (InterruptedException interrupted) {
            throw new AssertionError(interrupted);
        }
    }
}
