package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.DividedSlotLaws;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;

class LettuceDividedSlotTest extends DividedSlotLaws {

    @Override
    protected LockStore open(String url, MonotonicClock clock) {
        return new LettuceLockStoreProvider().open(LettuceUrl.of(url), clock);
    }
}
