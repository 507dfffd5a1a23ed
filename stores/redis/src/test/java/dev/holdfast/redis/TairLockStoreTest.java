package dev.holdfast.redis;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The laws for all kinds on {@code tair://}, with a double that adds Tair's commands to a real Redis. */
class TairLockStoreTest extends LockStoreTck {

    private static RedisServer server;
    private static CommandDouble tair;

    @BeforeAll
    static void startTheServer() {
        server = RedisServer.start();
        tair = new CommandDouble(server, CommandDouble.CommandGroup.CAS_CAD);
    }

    @AfterAll
    static void stopTheServer() {
        tair.close();
        server.close();
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        return new RedisLockStoreProvider().open("tair://" + tair.address(), clock);
    }

    @Override
    protected boolean runsOnRealTime() {
        return true;
    }

    // The store's rules have their long run on another server.
    @Override
    protected int modelOperations() {
        return 3_000;
    }
}
