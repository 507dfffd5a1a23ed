package dev.holdfast.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * The laws on a server whose clock follows that of the test. So time passes in an instant, no result depends on the speed of the
 * machine, and the laws about clocks can be tried, too.
 */
public abstract class HeldServerTck extends LockStoreTck {

    private @Nullable ServerTime server;

    /** Makes the server follow a clock. */
    protected abstract ServerTime follow(ManualClock clock);

    /** Opens the store. */
    protected abstract LockStore connect(MonotonicClock clock);

    @Override
    protected final LockStore open(MonotonicClock clock) {
        server = follow((ManualClock) clock);
        return connect(clock);
    }

    @Override
    protected final Optional<LockStore> openAnother(MonotonicClock clock) {
        return Optional.of(connect(clock));
    }

    /** The next counter is not taken from the clock alone. */
    @Test
    void countersGrowThoughTheServersClockStepsBack() {
        Claimant alice = new Claimant("alice", LONG);
        LockName name = new LockName(prefix() + "stepped");
        long last = 0;
        for (int i = 0; i < 3; i++) {
            Claim claim = alice.mutex(name);
            Granted granted = (Granted) get(store().tryAcquire(claim));
            assertThat(granted.counter()).isGreaterThan(last);
            last = granted.counter();
            get(store().release(claim));
            Objects.requireNonNull(server).step(Duration.ofHours(-5));
        }
    }
}
