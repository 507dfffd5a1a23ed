package dev.holdfast.spring.locked;

/** Which lock of a name a method holds, unless it is a semaphore. */
enum LockKind {
    /** One at a time. */
    MUTEX,
    /** Many at a time, while nobody writes. */
    READ,
    /** One at a time, while nobody reads. */
    WRITE
}
