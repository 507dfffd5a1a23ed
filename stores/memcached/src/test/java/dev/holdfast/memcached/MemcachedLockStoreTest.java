package dev.holdfast.memcached;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import dev.holdfast.testkit.process.MemcachedServer;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The rules for every store, on a real server. */
class MemcachedLockStoreTest extends LockStoreTck {

    /**
     * The server's clock says seconds, and is up to two behind; what is stamped by it ends later by as much. The laws
     * allow one step, so whatever shall be over gets this much longer.
     */
    private static final Duration CLOCK_IS_BEHIND = Duration.ofMillis(2_500);

    private static MemcachedServer server;

    @BeforeAll
    static void startTheServer() {
        server = MemcachedServer.start();
    }

    @AfterAll
    static void stopTheServer() {
        server.close();
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new MemcachedLockStoreProvider().open(server.url(), clock);
    }

    @Override
    protected void advance(Duration duration) {
        super.advance(duration.plus(CLOCK_IS_BEHIND));
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }
}
