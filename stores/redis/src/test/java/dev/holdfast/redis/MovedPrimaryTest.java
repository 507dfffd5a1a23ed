package dev.holdfast.redis;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;

class MovedPrimaryTest extends MovedPrimaryLaws {

    @Override
    protected LockStore open(String url) {
        return new RedisLockStoreProvider().open(url, MonotonicClock.SYSTEM);
    }
}
