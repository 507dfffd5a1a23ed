package dev.holdfast;

import org.jspecify.annotations.Nullable;

/** The store did not answer for as long as {@link LockOptions#storeTimeout()}, or refused the request permanently. */
public final class StoreUnavailableException extends LockException {

    private static final long serialVersionUID = 1L;

    public StoreUnavailableException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
