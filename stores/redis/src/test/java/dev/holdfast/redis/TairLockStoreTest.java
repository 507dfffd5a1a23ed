package dev.holdfast.redis;

import dev.holdfast.testkit.ServerStoreTck;
import org.junit.jupiter.api.AutoClose;

/** The laws for all kinds on {@code tair://}, with a double that adds Tair's commands to a real Redis. */
class TairLockStoreTest extends ServerStoreTck {

    @AutoClose
    private static final RedisServer SERVER = RedisServer.start();

    @AutoClose
    private static final CommandDouble TAIR = new CommandDouble(SERVER, CommandDouble.CommandGroup.CAS_CAD);

    TairLockStoreTest() {
        super(new RedisLockStoreProvider(), "tair://" + TAIR.address());
        // The store's rules have their long run on another server.
        runsModel(3_000);
    }
}
