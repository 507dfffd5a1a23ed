package dev.holdfast.redis;

import dev.holdfast.redis.CommandDouble.Speech;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import org.junit.jupiter.api.AfterEach;
import redis.clients.jedis.Jedis;

/** A server for each test, behind a double that adds commands which it lacks. */
abstract class WithDouble extends WithServer {

    final CommandDouble commands = new CommandDouble(server);

    @AfterEach
    void endTheDouble() {
        commands.close();
    }

    /** Opens a store in the plain layout on a server with these commands. */
    LockStore openPlain(Family family) {
        commands.speaks(family.speech());
        LockStore store = openUrl("redis://" + commands.address() + "?layout=plain");
        // So that the server knows the scripts, and the test counts what is sent each time.
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
        REDIS_8_4("SET", "DELEX", Speech.DELEX, Speech.SET_IFEQ),
        VALKEY_9("SET", "DELIFEQ", Speech.DELIFEQ, Speech.SET_IFEQ),
        VALKEY_8_1("SET", "EVALSHA", Speech.SET_IFEQ),
        TAIR("CAS", "CAD", Speech.CAS_CAD),
        REDIS_7("EVALSHA", "EVALSHA");

        final String renews;
        final String releases;
        private final Speech[] speech;

        Family(String renews, String releases, Speech... speech) {
            this.renews = renews;
            this.releases = releases;
            this.speech = speech;
        }

        Speech[] speech() {
            return speech.clone();
        }
    }
}
