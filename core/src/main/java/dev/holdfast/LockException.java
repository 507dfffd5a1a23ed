package dev.holdfast;

import org.jspecify.annotations.Nullable;

/** The root of what Holdfast throws. The message names the lock, the owner, the cause and what to do. */
public class LockException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public LockException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    public LockException(String message) {
        this(message, null);
    }
}
