package dev.holdfast.spi;

import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * A store could not execute a request. The exception says whether the request may have had an effect all the same
 * (law 11).
 */
public class StoreException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** The effect that a failed request may have had. */
    public enum Effect {
        /** The request certainly had no effect. */
        NONE,
        /**
         * The request may have had its full effect, because the reply was lost. The engine repeats the request or
         * releases the claim.
         */
        UNKNOWN
    }

    private final Effect effect;
    private final boolean retryable;

    private StoreException(Effect effect, boolean retryable, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.effect = effect;
        this.retryable = retryable;
    }

    /** For {@link KindConflictException}. */
    StoreException(String message) {
        this(Effect.NONE, false, message, null);
    }

    /** The store could not be reached, or refused for a temporary reason. A repeated request may succeed. */
    public static StoreException unavailable(Effect effect, String message, @Nullable Throwable cause) {
        return new StoreException(effect, true, message, cause);
    }

    /**
     * The store would give the same answer again: missing rights, a wrong table, a full queue. The request had no
     * effect.
     */
    public static StoreException refused(String message, @Nullable Throwable cause) {
        return new StoreException(Effect.NONE, false, message, cause);
    }

    /**
     * Converts the failure of a stage: the store's own exception is returned as it is; anything that a store should
     * not have thrown becomes an exception with an unknown effect.
     */
    public static StoreException of(Throwable failure) {
        Throwable cause = failure;
        while (cause instanceof CompletionException && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause instanceof StoreException known
                ? known
                : unavailable(Effect.UNKNOWN, "The store failed with " + cause, cause);
    }

    /** Whether the request may have had an effect. */
    public Effect effect() {
        return effect;
    }

    /** Whether the same request may succeed later. */
    public boolean retryable() {
        return retryable;
    }
}
