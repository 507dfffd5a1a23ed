package dev.holdfast.redis;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreTraits.NodeRole;

class NodeTest extends NodeLaws {

    @Override
    protected LockStore open(String url) {
        return new RedisLockStoreProvider().open(url, MonotonicClock.SYSTEM);
    }

    @Override
    protected NodeRole role() {
        return NodeRole.BLOCKING;
    }
}
