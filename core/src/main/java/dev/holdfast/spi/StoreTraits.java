package dev.holdfast.spi;

import java.time.Duration;

/**
 * Constant facts about a store, each checked by the TCK. The engine chooses its ways by them, the docs print them.
 *
 * @param product a short name for people, such as {@code sqlite}
 * @param fifo whether the store keeps a queue and serves it first come, first served; else {@code enqueue} is not
 *     supported and waiters try again with back-off
 * @param push whether a waiter is told of its grant without being asked; else by polling inside the store
 * @param atomicSeveral whether {@link LockStore#tryAcquireAll} is supported
 * @param tokens what the counters survive
 * @param liveness what ends the grants of a dead holder
 * @param leaseStep the store's step of leases: they are rounded up to a multiple of it
 * @param ticketTtl how long a waiter keeps its place without a refresh; a grant handed to a waiter lives no longer than
 *     this until its first renewal. Zero if there is no queue.
 * @param callTimeout the longest time that one call takes, its outcome included
 * @param allKinds whether claims of every limit are served; else only exclusive locks (limit 1), and any other claim is
 *     refused without effect
 */
public record StoreTraits(
        String product,
        boolean fifo,
        boolean push,
        boolean atomicSeveral,
        TokenSurvival tokens,
        Liveness liveness,
        Duration leaseStep,
        Duration ticketTtl,
        Duration callTimeout,
        boolean allKinds) {

    /** The traits of a store that serves every kind. */
    public StoreTraits(
            String product,
            boolean fifo,
            boolean push,
            boolean atomicSeveral,
            TokenSurvival tokens,
            Liveness liveness,
            Duration leaseStep,
            Duration ticketTtl,
            Duration callTimeout) {
        this(product, fifo, push, atomicSeveral, tokens, liveness, leaseStep, ticketTtl, callTimeout, true);
    }

    /** What a store's counters survive, from the least to the most. Each includes those before it. */
    public enum TokenSurvival {
        /** Release, expiry and clean-up of the record, while the store's process lives. */
        PROCESS,
        /** A restart of the store. */
        RESTART,
        /** The loss of the store's data too, if its clock did not step back. */
        DATA_LOSS
    }

    /** What ends the grants and the places of a dead client. */
    public enum Liveness {
        /** Each grant's own lease. */
        LEASE,
        /** The session of the client; shorter leases are kept by the client. */
        SESSION
    }
}
