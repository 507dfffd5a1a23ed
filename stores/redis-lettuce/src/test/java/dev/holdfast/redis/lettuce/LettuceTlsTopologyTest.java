package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.TlsTopologyLaws;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;

/** TLS and passwords with Sentinels and on a cluster, through Lettuce. */
class LettuceTlsTopologyTest extends TlsTopologyLaws {

    @Override
    protected LockStore open(String url) {
        return new LettuceLockStoreProvider().open(LettuceUrl.of(url), MonotonicClock.SYSTEM);
    }

    @Override
    protected boolean staysWithSentinels() {
        return false;
    }
}
