package dev.holdfast.internal;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.StoreException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Sends releases, and repeats those whose outcome is unknown in the background until it is known or the claim's lease is
 * over, when the store has ended it by itself.
 */
final class Releases {

    private static final long RETRY_FIRST_NANOS = 50_000_000;
    private static final long RETRY_MOST_NANOS = 2_000_000_000;

    private final Engine engine;
    /** Releases that are under way or will be repeated; the close of the engine waits for them. */
    private final AtomicInteger pending = new AtomicInteger();

    Releases(Engine engine) {
        this.engine = engine;
    }

    int pending() {
        return pending.get();
    }

    /**
     * Releases a claim, on the calling thread if the store works there.
     *
     * @return the answer, or null if the first attempt failed and is repeated in the background; never fails
     */
    CompletableFuture<@Nullable Released> send(Claim claim) {
        CompletableFuture<@Nullable Released> first = new CompletableFuture<>();
        pending.incrementAndGet();
        long lasts = claim.lease().toNanos() + engine.traits().ticketTtl().toNanos();
        attempt(claim, first, engine.now() + lasts, 0);
        return first;
    }

    /** Releases a claim on another thread. */
    void sendLater(Claim claim) {
        pending.incrementAndGet();
        boolean dispatched = engine.dispatch(() -> {
            send(claim);
            pending.decrementAndGet();
        });
        if (!dispatched) {
            pending.decrementAndGet();
        }
    }

    /**
     * Of a claim whose last request was not granted: releases it if there was an earlier one, which may still be on its way,
     * and be granted when it comes.
     */
    void endIfRepeated(Claim claim) {
        if (claim.repeated()) {
            sendLater(claim);
        }
    }

    private void attempt(Claim claim, CompletableFuture<@Nullable Released> first, long until, int tries) {
        long sentAt = engine.now();
        try {
            engine.store().release(claim).whenComplete((released, failure) -> {
                if (failure != null) {
                    repeat(claim, first, until, tries, StoreException.of(failure));
                } else {
                    pending.decrementAndGet();
                    released.granted().forEach(handed -> engine.handed(handed, sentAt));
                    first.complete(released);
                }
            });
        } catch (Throwable failure) {
            repeat(claim, first, until, tries, StoreException.of(failure));
        }
    }

    private void repeat(
            Claim claim, CompletableFuture<@Nullable Released> first, long until, int tries, StoreException cause) {
        first.complete(null);
        long next = engine.now() + Backoff.jittered(tries, RETRY_FIRST_NANOS, RETRY_MOST_NANOS);
        if (!cause.retryable() || next > until || engine.isClosed()) {
            pending.decrementAndGet();
            return;
        }
        engine.timer().alarm(next, () -> {
            if (!engine.dispatch(() -> attempt(claim, first, until, tries + 1))) {
                pending.decrementAndGet();
            }
        });
    }
}
