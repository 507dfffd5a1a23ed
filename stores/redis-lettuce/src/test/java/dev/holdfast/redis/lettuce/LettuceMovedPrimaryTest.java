package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.MovedPrimaryLaws;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;

class LettuceMovedPrimaryTest extends MovedPrimaryLaws {

    @Override
    protected LockStore open(String url) {
        return new LettuceLockStoreProvider().open(LettuceUrl.of(url), MonotonicClock.SYSTEM);
    }
}
