package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.StoreTest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import redis.clients.jedis.Jedis;

/** A server for each test, and stores on it. */
abstract class WithServer extends StoreTest {

    final RedisServer server;

    WithServer(String... settings) {
        server = closing(started(settings));
    }

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

    /** Many locks are taken, renewed and released while another client removes all scripts, over and over. */
    void nothingIsLostWhileScriptsAreFlushed(LockStore store, int locks, int renewals) throws InterruptedException {
        AtomicBoolean done = new AtomicBoolean();
        Thread flusher = new Thread(() -> {
            try (Jedis jedis = server.connect()) {
                while (!done.get()) {
                    jedis.scriptFlush();
                }
            }
        });
        flusher.start();
        List<Claim> held = new ArrayList<>();
        for (int i = 0; i < locks; i++) {
            held.add(alice.mutex(new LockName(name + "-" + i)));
            granted(store, held.get(i));
        }
        for (int i = 0; i < renewals; i++) {
            assertThat(get(store.renew(held))).allMatch(Granted.class::isInstance);
        }
        held.forEach(claim -> assertThat(get(store.release(claim)).wasOwner()).isTrue());
        done.set(true);
        flusher.join();
    }
}
