package dev.holdfast.testkit;

import dev.holdfast.spi.StoreTraits;
import java.time.Duration;

/** The traits of a store with some of them changed, so that a test names only those that it is about. */
public final class ChangedTraits {

    private final StoreTraits before;
    private String product;
    private boolean fifo;
    private boolean push;
    private boolean atomicSeveral;
    private Duration leaseStep;
    private Duration ticketTtl;
    private Duration callTimeout;
    private StoreTraits.Kinds kinds;

    private ChangedTraits(StoreTraits before) {
        this.before = before;
        this.product = before.product();
        this.fifo = before.fifo();
        this.push = before.push();
        this.atomicSeveral = before.atomicSeveral();
        this.leaseStep = before.leaseStep();
        this.ticketTtl = before.ticketTtl();
        this.callTimeout = before.callTimeout();
        this.kinds = before.kinds();
    }

    public static ChangedTraits of(StoreTraits before) {
        return new ChangedTraits(before);
    }

    public ChangedTraits named(String name) {
        product = name;
        return this;
    }

    public ChangedTraits withoutQueue() {
        fifo = false;
        ticketTtl = Duration.ZERO;
        return this;
    }

    public ChangedTraits withoutPush() {
        push = false;
        return this;
    }

    public ChangedTraits oneNameAtATime() {
        atomicSeveral = false;
        return this;
    }

    public ChangedTraits leaseStep(Duration step) {
        leaseStep = step;
        return this;
    }

    public ChangedTraits callTimeout(Duration limit) {
        callTimeout = limit;
        return this;
    }

    public ChangedTraits mutexesOnly() {
        kinds = StoreTraits.Kinds.MUTEX;
        return this;
    }

    public StoreTraits get() {
        return new StoreTraits(
                product,
                fifo,
                push,
                atomicSeveral,
                before.tokens(),
                before.liveness(),
                leaseStep,
                ticketTtl,
                callTimeout,
                kinds,
                before.node());
    }
}
