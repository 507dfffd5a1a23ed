package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.SecretLaws;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;

class LettuceSecretTest extends SecretLaws {

    @Override
    protected LockStore open(String url) {
        return new LettuceLockStoreProvider().open(LettuceUrl.of(url), MonotonicClock.SYSTEM);
    }
}
