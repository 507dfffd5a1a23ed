package dev.holdfast;

import org.jspecify.annotations.Nullable;

/**
 * The superclass of the exceptions that Holdfast throws. The message names the lock, the owner, the cause and the
 * remedy.
 */
public class LockException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public LockException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    public LockException(String message) {
        this(message, null);
    }
}
