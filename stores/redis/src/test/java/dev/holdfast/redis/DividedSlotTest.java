package dev.holdfast.redis;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;

class DividedSlotTest extends DividedSlotLaws {

    @Override
    protected LockStore open(String url, MonotonicClock clock) {
        return new RedisLockStoreProvider().open(url, clock);
    }
}
