package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.NodeLaws;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreTraits.NodeRole;

class LettuceNodeTest extends NodeLaws {

    @Override
    protected LockStore open(String url) {
        return new LettuceLockStoreProvider().open(LettuceUrl.of(url), MonotonicClock.SYSTEM);
    }

    @Override
    protected NodeRole role() {
        return NodeRole.DIRECT;
    }
}
