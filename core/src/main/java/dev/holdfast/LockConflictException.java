package dev.holdfast;

import org.jspecify.annotations.Nullable;

/** The name is in use as another kind of lock: a mutex, a read-write lock, or a semaphore with another limit. */
public final class LockConflictException extends LockException {

    private static final long serialVersionUID = 1L;

    public LockConflictException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
