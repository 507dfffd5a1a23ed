package dev.holdfast.testkit.fault;

/** A request that can be made of a store. */
public enum Verb {
    TRY_ACQUIRE,
    TRY_ACQUIRE_ALL,
    ENQUEUE,
    RENEW,
    RELEASE,
    WATCH,
    INSPECT,
    LIST
}
