package dev.holdfast.zookeeper;

import dev.holdfast.Lease;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Waits behind a lease, and looks at the moment of its grant whether that one is still valid. A test that looks later, when it
 * has learned of the loss, may be so late on a busy machine that the next claim has been granted in between.
 */
final class ValidityAtTheGrant implements ClaimListener {

    private final Lease before;
    private final CompletableFuture<Boolean> valid = new CompletableFuture<>();

    ValidityAtTheGrant(Lease before) {
        this.before = before;
    }

    /** Waits for the grant. Returns whether both held. */
    boolean whenGranted() throws InterruptedException, ExecutionException, TimeoutException {
        return valid.get(Duration.ofMinutes(1).toSeconds(), TimeUnit.SECONDS);
    }

    @Override
    public void waiting(int position, Duration retryAfter) {}

    @Override
    public void granted(Granted granted) {
        valid.complete(before.isValid());
    }

    @Override
    public void ended(Renewed.Reason reason) {
        valid.completeExceptionally(new AssertionError("It was not granted, but ended: " + reason));
    }

    @Override
    public void failed(StoreException cause) {
        valid.completeExceptionally(cause);
    }
}
