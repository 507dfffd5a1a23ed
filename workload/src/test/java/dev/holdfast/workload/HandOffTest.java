package dev.holdfast.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What one process does for another one to wait. */
class HandOffTest {

    private static final long WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    @TempDir
    private Path folder;

    /**
     * A lock may wake the thread that acquires it just before that thread would have parked, so that its next park ends at once. Before,
     * the giver then released when the taker had only begun to ask, and what was measured was how long a cold process takes for
     * that.
     */
    @Test
    void theGiverWaitsAlthoughItWasWokenBefore() throws Exception {
        Guard guard = Guard.map(folder.resolve("guard"));
        Woken section = new Woken();
        Fields order = new Fields()
                .with("role", "giver")
                .with("pair", 0)
                .with("waitNanos", WAIT_NANOS)
                .with("seed", 1)
                .with("startAt", System.nanoTime())
                .with("nanos", TimeUnit.MINUTES.toNanos(1));
        // The taker has asked by the time that the giver looks.
        guard.signal(HandOff.ASKED, 1);
        assertThatThrownBy(() -> new HandOff(section, guard, order).run()).isInstanceOf(CancellationException.class);
        assertThat(section.held).isGreaterThan(WAIT_NANOS);
    }

    private static final class Woken implements Section {

        private long held;

        @Override
        public void enter() {
            held = -System.nanoTime();
            LockSupport.unpark(Thread.currentThread());
        }

        @Override
        public void leave() {
            held += System.nanoTime();
            throw new CancellationException();
        }
    }
}
