package dev.holdfast.redis;

import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.redis.jedis.JedisPorts;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;

class MovedPrimaryTest extends MovedPrimaryLaws {

    @Override
    protected LockStore open(String url) {
        return new RedisLockStoreProvider().open(url, MonotonicClock.SYSTEM);
    }

    @Override
    protected RedisPort port(String url) {
        return JedisPorts.open(RedisUrl.parse(url), MonotonicClock.SYSTEM);
    }
}
