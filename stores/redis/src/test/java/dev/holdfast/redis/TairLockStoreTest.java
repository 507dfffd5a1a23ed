package dev.holdfast.redis;

import org.junit.jupiter.api.AutoClose;

/** The laws for all kinds in the layout of {@code tair://}, with a double that adds Tair's commands to a real Redis. */
class TairLockStoreTest extends HeldRedisTck {

    @AutoClose
    private static final RedisServer SERVER = RedisServer.startWithClock();

    @AutoClose
    private static final CommandDouble TAIR = new CommandDouble(SERVER, CommandDouble.CommandGroup.CAS_CAD);

    TairLockStoreTest() {
        super(SERVER, "redis://" + TAIR.address() + "?layout=tair");
    }
}
