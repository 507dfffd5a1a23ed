package dev.holdfast.internal.calls;

import dev.holdfast.internal.time.Backoff;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.StoreException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Sends releases, and repeats those whose outcome is unknown in the background until it is known, or until the claim's lease
 * is over and the store has ended it by itself.
 */
public final class ReleaseRetrier {

    /** The waits between two attempts. */
    public static final Backoff BACKOFF = new Backoff(50_000_000, 2_000_000_000);

    /** A release is complete when so many further ones are, each of which undoes a grant to a wait that has ended. */
    private static final int MAX_CHAIN = 16;

    /** Is notified of what a release has granted. */
    public interface GrantListener {

        /**
         * A release has granted a claim.
         *
         * @param sentAt when the release was sent
         * @return the claim to release next, because it was granted although its wait has ended; null if there is none
         */
        @Nullable
        Claim granted(Released.Handed handed, long sentAt);
    }

    private final LockStore store;
    private final RepeatedCall.Retries retries;
    private final RepeatedCall.Retries cleanup;
    private final GrantListener listener;
    private final long ticketNanos;
    /** Releases that are under way or will be repeated. */
    private final AtomicInteger pending = new AtomicInteger();

    /**
     * @param retries for releases that somebody waits for
     * @param cleanup for releases that only shorten what a lease ends anyway
     */
    public ReleaseRetrier(
            LockStore store, RepeatedCall.Retries retries, RepeatedCall.Retries cleanup, GrantListener listener) {
        this.store = store;
        this.retries = retries;
        this.cleanup = cleanup;
        this.listener = listener;
        this.ticketNanos = store.traits().ticketTtl().toNanos();
    }

    /** How many releases are under way or will be repeated. The close of the engine waits for them. */
    public int pending() {
        return pending.get();
    }

    /**
     * Releases a claim; the first attempt is made on the calling thread if the store works there.
     *
     * @return the answer, or null if the first attempt failed and is repeated in the background; never fails
     */
    public CompletableFuture<@Nullable Released> send(Claim claim) {
        Call call = begin(retries, claim, 0);
        call.start();
        return call.first;
    }

    /** Releases a claim without making the calling thread work for it; see {@link #send}. */
    public CompletableFuture<@Nullable Released> sendLater(Claim claim) {
        Call call = begin(retries, claim, 0);
        call.startOnLane();
        return call.first;
    }

    /** Releases what is left of a lost grant. Threads of its own do it, since an outage may leave very many of these. */
    public CompletableFuture<@Nullable Released> cleanUp(Claim claim) {
        Call call = begin(cleanup, claim, 0);
        call.startOnLane();
        return call.first;
    }

    /** One release. */
    private final class Call extends RepeatedCall<Released> {

        private final Claim claim;
        private final int chain;
        private final CompletableFuture<@Nullable Released> first = new CompletableFuture<>();
        private long sentAt;

        /** @param chain how many releases have led to this one, each by a grant to a wait that has ended */
        private Call(RepeatedCall.Retries how, Claim claim, long until, int chain) {
            super(how, until);
            this.claim = claim;
            this.chain = chain;
        }

        @Override
        protected CompletionStage<Released> send() {
            sentAt = retries.time().now();
            return store.release(claim);
        }

        @Override
        protected void answered(Released released) {
            CompletableFuture<?> passedOn;
            try {
                passedOn = released.granted().isEmpty() ? null : passOn(released, sentAt, chain);
            } finally {
                // After what follows from it has been counted: the close waits for that, too.
                pending.decrementAndGet();
            }
            if (passedOn == null || chain == MAX_CHAIN) {
                first.complete(released);
            } else {
                passedOn.whenComplete((done, never) -> first.complete(released));
            }
        }

        @Override
        protected void delayed() {
            first.complete(null);
        }

        @Override
        protected void failed(StoreException cause) {
            pending.decrementAndGet();
            first.complete(null);
        }
    }

    private Call begin(RepeatedCall.Retries how, Claim claim, int chain) {
        pending.incrementAndGet();
        return new Call(how, claim, retries.time().now() + claim.lease().toNanos() + ticketNanos, chain);
    }

    /**
     * Passes on what a release has granted. What was granted to a wait of this client that has ended goes back.
     *
     * @param sentAt when the release was sent
     * @return completes when nobody can see such a grant any more; never fails
     */
    public CompletableFuture<?> passOn(Released released, long sentAt) {
        return passOn(released, sentAt, 0);
    }

    private CompletableFuture<?> passOn(Released released, long sentAt, int chain) {
        CompletableFuture<?> done = CompletableFuture.completedFuture(null);
        for (Released.Handed handed : released.granted()) {
            Claim unwanted = listener.granted(handed, sentAt);
            if (unwanted != null) {
                Call next = begin(retries, unwanted, chain + 1);
                next.startOnLane();
                done = CompletableFuture.allOf(done, next.first);
            }
        }
        return done;
    }

    /**
     * Of a claim whose last request was not granted: releases it if there was an earlier one, which may still be on its
     * way, and be granted when it arrives.
     */
    public void endIfRepeated(Claim claim) {
        if (claim.repeated()) {
            cleanUp(claim);
        }
    }
}
