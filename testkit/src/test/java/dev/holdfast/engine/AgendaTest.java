package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.internal.time.Agenda;
import dev.holdfast.internal.time.Uptime;
import dev.holdfast.spi.MonotonicClock;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What becomes of entries whose pass fails for want of memory. */
class AgendaTest {

    private static final long HOUR = TimeUnit.HOURS.toNanos(1);

    private final Uptime time = Uptime.start(MonotonicClock.SYSTEM, null);
    private final BlockingQueue<List<Thing>> passes = new LinkedBlockingQueue<>();
    /** What the first pass does before it fails. */
    private Runnable beforeFailure = () -> {};

    private final Agenda<Thing> agenda = new Agenda<>("failing", time, false, this::pass);
    private boolean failed;

    private static final class Thing extends Agenda.Entry {}

    @AfterEach
    void close() {
        agenda.close();
    }

    private void pass(List<Thing> due, long now) {
        passes.add(List.copyOf(due));
        if (!failed) {
            failed = true;
            Thread.currentThread().setUncaughtExceptionHandler((thread, expected) -> {});
            beforeFailure.run();
            throw new OutOfMemoryError("by the test");
        }
    }

    private List<Thing> next() throws InterruptedException {
        return Objects.requireNonNull(passes.poll(20, TimeUnit.SECONDS), "there was no further pass");
    }

    @Test
    void whatWasDueIsHandedOverAgainAfterAPassThatFailed() throws InterruptedException {
        Thing one = new Thing();
        agenda.schedule(one, time.now());
        assertThat(next()).containsExactly(one);
        assertThat(next()).containsExactly(one);
    }

    /** Before, the thread ended, and nothing was renewed any more: without memory the JDK's own handler throws, too. */
    @Test
    void aHandlerThatThrowsWhatItIsGivenDoesNotEndTheThread() throws InterruptedException {
        beforeFailure = () -> Thread.currentThread().setUncaughtExceptionHandler((thread, failure) -> {
            throw (Error) failure;
        });
        Thing one = new Thing();
        agenda.schedule(one, time.now());
        assertThat(next()).containsExactly(one);
        assertThat(next()).containsExactly(one);
    }

    @Test
    void whatAPassThatFailedHasRemovedOrPostponedIsNotHandedOverAgain() throws InterruptedException {
        Thing removed = new Thing();
        Thing postponed = new Thing();
        Thing due = new Thing();
        beforeFailure = () -> {
            agenda.remove(removed);
            agenda.schedule(postponed, time.now() + HOUR);
        };
        // These two are handed over as soon as any other one is due.
        agenda.schedule(removed, time.now() + HOUR, 2 * HOUR);
        agenda.schedule(postponed, time.now() + HOUR, 2 * HOUR);
        agenda.schedule(due, time.now());
        assertThat(next()).containsExactlyInAnyOrder(removed, postponed, due);
        assertThat(next()).containsExactly(due);
    }
}
