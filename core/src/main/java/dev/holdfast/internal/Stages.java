package dev.holdfast.internal;

import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.concurrent.CompletionException;

/** Reads the failures of a store's stages. */
final class Stages {

    private Stages() {}

    /** The store's own exception; one with an unknown effect for anything that a store should not have thrown. */
    static StoreException storeException(Throwable failure) {
        Throwable cause = failure;
        while (cause instanceof CompletionException && cause.getCause() != null) {
            cause = cause.getCause();
        }
        if (cause instanceof StoreException known) {
            return known;
        }
        return StoreException.unavailable(Effect.UNKNOWN, "The store failed with " + cause, cause);
    }
}
