package dev.holdfast.redis;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;

class SecretTest extends SecretLaws {

    @Override
    protected LockStore open(String url) {
        return new RedisLockStoreProvider().open(url, MonotonicClock.SYSTEM);
    }
}
