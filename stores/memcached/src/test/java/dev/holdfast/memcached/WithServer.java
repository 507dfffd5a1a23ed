package dev.holdfast.memcached;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.StoreTest;

/** Base class of tests that open stores on servers of their own. */
abstract class WithServer extends StoreTest {

    LockStore open(String url) {
        return closing(new MemcachedLockStoreProvider().open(url, MonotonicClock.SYSTEM));
    }
}
