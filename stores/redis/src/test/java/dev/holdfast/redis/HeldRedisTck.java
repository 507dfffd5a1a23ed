package dev.holdfast.redis;

import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.redis.jedis.JedisPorts;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.HeldServerTck;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.ServerTime;
import redis.clients.jedis.Jedis;

/** The laws, on a real server with a clock that can be held. */
abstract class HeldRedisTck extends HeldServerTck {

    private final RedisServer server;
    private final String url;

    /** @param url that of a store in the server */
    HeldRedisTck(RedisServer server, String url) {
        this.server = server;
        this.url = url;
    }

    @Override
    protected final ServerTime follow(ManualClock clock) {
        // The clock of the test before may have been ahead of this one, and what is stored tells of it.
        server.ask(Jedis::flushAll);
        return ServerTime.follow(clock, server.clock()::hold);
    }

    @Override
    protected final LockStore connect(MonotonicClock clock) {
        // Lines and servers take real time: on the clock that is held, each step of it would be a long silence.
        RedisUrl parsed = RedisUrl.parse(url);
        return RedisLockStore.opened(JedisPorts.open(parsed, MonotonicClock.SYSTEM), parsed.options(), clock);
    }
}
