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
 * @param kinds which kinds of lock are served; any other claim is refused without effect
 * @param node how the store can be one node of a quorum
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
        Kinds kinds,
        NodeRole node) {

    /** The traits of a store that serves every kind and cannot be a node of a quorum. */
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
        this(
                product,
                fifo,
                push,
                atomicSeveral,
                tokens,
                liveness,
                leaseStep,
                ticketTtl,
                callTimeout,
                Kinds.ALL,
                NodeRole.NONE);
    }

    /** The same traits for a store that serves these kinds only. */
    public StoreTraits withKinds(Kinds served) {
        return new StoreTraits(
                product, fifo, push, atomicSeveral, tokens, liveness, leaseStep, ticketTtl, callTimeout, served, node);
    }

    /** The same traits for a store that can be a node of a quorum in this way. */
    public StoreTraits withNode(NodeRole role) {
        return new StoreTraits(
                product, fifo, push, atomicSeveral, tokens, liveness, leaseStep, ticketTtl, callTimeout, kinds, role);
    }

    /** Which kinds of lock a store serves. Each constant includes those before it. */
    public enum Kinds {
        /** Exclusive locks only: claims with the limit 1. */
        MUTEX,
        /** Also read-write locks: claims with the limit {@link Claim#ALL}. */
        READ_WRITE,
        /** Every limit: also semaphores, and wait sets where the store has a queue. */
        ALL;

        /** Whether a claim with this limit is served. */
        public boolean serves(int limit) {
            return this == ALL || limit == 1 || (this == READ_WRITE && limit == Claim.ALL);
        }
    }

    /** Whether a store implements {@link LockStore#tryAcquireAsNode}, and what its calls do to the calling thread. */
    public enum NodeRole {
        /** The store cannot be a node of a quorum. */
        NONE,
        /** It can, and its calls keep the calling thread until the answer is there. */
        BLOCKING,
        /** It can, and its calls return at once. */
        DIRECT
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
