package dev.holdfast.internal;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** What uses the locks of a client, and must stop that use before a client that closes releases them. */
public interface ClosesFirst {

    /** Begins to end; the result completes when nothing of it goes on. Must not block. */
    CompletableFuture<@Nullable Void> leave();
}
