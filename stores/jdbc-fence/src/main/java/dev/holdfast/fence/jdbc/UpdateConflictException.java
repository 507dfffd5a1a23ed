package dev.holdfast.fence.jdbc;

import dev.holdfast.LockException;
import org.jspecify.annotations.Nullable;

/** An {@link OptimisticUpdate} gave up: others were first at every attempt. Nothing was written. */
public final class UpdateConflictException extends LockException {

    private static final long serialVersionUID = 1L;

    private final int attempts;

    UpdateConflictException(String message, int attempts, @Nullable Throwable cause) {
        super(message, cause);
        this.attempts = attempts;
    }

    /** How many attempts were made. */
    public int attempts() {
        return attempts;
    }
}
