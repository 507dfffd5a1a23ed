package dev.holdfast.memcached;

import dev.holdfast.testkit.ServerStoreTck;
import dev.holdfast.testkit.process.MemcachedServer;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;

/** The rules for every store, on a real server. */
class MemcachedLockStoreTest extends ServerStoreTck {

    /**
     * The server's clock says seconds, and is up to two behind; what is stamped by it ends later by as much. The laws
     * allow one step, so whatever shall be over gets this much longer.
     */
    private static final Duration CLOCK_IS_BEHIND = Duration.ofMillis(2_500);

    @AutoClose
    private static final MemcachedServer SERVER = MemcachedServer.start();

    MemcachedLockStoreTest() {
        super(new MemcachedLockStoreProvider(), SERVER.url());
    }

    @Override
    protected void advance(Duration duration) {
        super.advance(duration.plus(CLOCK_IS_BEHIND));
    }
}
