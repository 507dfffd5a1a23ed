package dev.holdfast.redis;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;

/** TLS and passwords with Sentinels and on a cluster, through Jedis. */
class TlsTopologyTest extends TlsTopologyLaws {

    @Override
    protected LockStore open(String url) {
        return new RedisLockStoreProvider().open(url, MonotonicClock.SYSTEM);
    }

    @Override
    protected boolean staysWithSentinels() {
        return true;
    }
}
