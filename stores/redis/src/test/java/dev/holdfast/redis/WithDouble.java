package dev.holdfast.redis;

import dev.holdfast.redis.CommandDouble.CommandGroup;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import org.junit.jupiter.api.AfterEach;
import redis.clients.jedis.Jedis;

/** A server for each test, behind a double that adds commands that the server lacks. */
abstract class WithDouble extends WithServer {

    final CommandDouble commands = new CommandDouble(server);

    @AfterEach
    void endTheDouble() {
        commands.close();
    }

    /** Opens a store in the plain layout on a server with these commands. */
    LockStore openPlain(Family family) {
        commands.supportOnly(family.groups());
        LockStore store = openUrl("redis://" + commands.address() + "?layout=plain");
        // Makes the scripts known to the server, so that the test counts only what is sent each time.
        Claim warm = alice.mutex(new LockName(name + "-warm"));
        granted(store, warm);
        renewed(store, warm.withLease(LONG.plusSeconds(1)));
        get(store.release(warm.again()));
        return store;
    }

    /** The key of the string of a lock. */
    static String key(LockName name) {
        return "holdfast:" + name;
    }

    String text(LockName name) {
        try (Jedis jedis = server.connect()) {
            return String.valueOf(jedis.get(key(name)));
        }
    }

    long left(LockName name) {
        try (Jedis jedis = server.connect()) {
            return jedis.pttl(key(name));
        }
    }

    /** Servers that differ in what they can do without a script. */
    enum Family {
        REDIS_8_4("SET", "DELEX", CommandGroup.DELEX, CommandGroup.SET_IFEQ),
        VALKEY_9("SET", "DELIFEQ", CommandGroup.DELIFEQ, CommandGroup.SET_IFEQ),
        VALKEY_8_1("SET", "EVALSHA", CommandGroup.SET_IFEQ),
        TAIR("CAS", "CAD", CommandGroup.CAS_CAD),
        REDIS_7("EVALSHA", "EVALSHA");

        final String renews;
        final String releases;
        private final CommandGroup[] groups;

        Family(String renews, String releases, CommandGroup... groups) {
            this.renews = renews;
            this.releases = releases;
            this.groups = groups;
        }

        CommandGroup[] groups() {
            return groups.clone();
        }
    }
}
