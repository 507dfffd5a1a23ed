package dev.holdfast.memory;

import dev.holdfast.spi.LockName;

/** What a store in memory has, for tests of clients that may believe in something else. */
public final class StoredGrants {

    private StoredGrants() {}

    /** Whether it has a grant at this moment, with so many permits at the least. */
    public static boolean keeps(MemoryLockStore store, LockName name, long counter, int permits) {
        return store.keeps(name, counter, permits);
    }
}
