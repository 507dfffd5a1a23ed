package dev.holdfast.spi;

import java.time.Duration;

/**
 * Constant facts about a store. The TCK checks each of them, the engine chooses its strategies by them, and the
 * documentation lists them.
 *
 * @param product a short name for people, such as {@code sqlite}
 * @param fifo whether the store keeps a queue and serves it first come, first served; else {@code enqueue} is not
 *     supported and waiters try again with back-off
 * @param push whether the store notifies a waiter of its grant by a push; else the store polls for it
 * @param atomicSeveral whether {@link LockStore#tryAcquireAll} is supported
 * @param tokens what the counters survive
 * @param liveness what ends the grants of a dead holder
 * @param leaseStep the step of leases in this store: leases are rounded up to a multiple of it
 * @param ticketTtl how long a waiter keeps its position in the queue without a refresh; a grant handed to a waiter
 *     lasts no longer than this until its first renewal. Zero if there is no queue.
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

    /** What a store's counters survive, from the weakest to the strongest. Each constant includes those before it. */
    public enum TokenSurvival {
        /**
         * The counters survive release, expiry and the cleanup of the record, as long as the store's process lives.
         */
        PROCESS,
        /** The counters also survive a restart of the store. */
        RESTART,
        /** The counters also survive the loss of the store's data, if the store's clock did not step back. */
        DATA_LOSS
    }

    /** What ends the grants and the queue positions of a dead client. */
    public enum Liveness {
        /** Each grant ends with its own lease. */
        LEASE,
        /** All grants end with the session of the client. The client itself enforces leases that are shorter. */
        SESSION
    }
}
