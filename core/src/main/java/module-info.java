/**
 * One distributed lock over the store that a program already runs. The engine, {@code dev.holdfast.internal}, is not exported:
 * what is public there is public to its neighbours only.
 */
module dev.holdfast.core {
    requires static transitive org.jspecify;
    // Without it, as in a run-time image that leaves it out, there are no events in flight recordings.
    requires static jdk.jfr;

    exports dev.holdfast;
    exports dev.holdfast.election;
    exports dev.holdfast.memory;
    exports dev.holdfast.spi;
    exports dev.holdfast.store;
    exports dev.holdfast.store.sequenced;

    uses dev.holdfast.spi.LockStoreProvider;

    provides dev.holdfast.spi.LockStoreProvider with
            dev.holdfast.memory.MemoryLockStoreProvider;
}
