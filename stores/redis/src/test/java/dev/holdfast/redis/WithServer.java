package dev.holdfast.redis;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.StoreTest;
import org.junit.jupiter.api.AfterEach;

/** A server for each test, and stores on it. */
abstract class WithServer extends StoreTest {

    // With a sync each second, which is the default, the server delays even writes to the file while its disk is
    // busy.
    RedisServer server = closing(started("--appendonly", "yes", "--appendfsync", "always"));

    /** Starts the server; subclasses may start another version. */
    RedisServer started(String... settings) {
        return RedisServer.start(settings);
    }

    // Stores send requests to the server when they are closed, so it must not be frozen.
    @AfterEach
    void thaw() {
        server.signal("CONT");
    }

    LockStore open(String options) {
        return openUrl(server.url() + options);
    }

    LockStore openUrl(String url) {
        return closing(new RedisLockStoreProvider().open(url, MonotonicClock.SYSTEM));
    }
}
