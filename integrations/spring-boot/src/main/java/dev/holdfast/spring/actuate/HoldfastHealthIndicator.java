package dev.holdfast.spring.actuate;

import dev.holdfast.Holdfast;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/**
 * Up if the store answers in time, else down: locks that are held stay valid until their leases are over, but none can be acquired.
 * It belongs into no liveness group, because a new process would reach the store no better, and would have lost the locks of this
 * one. Never waits longer than its timeout. Thread-safe.
 */
public final class HoldfastHealthIndicator extends AbstractHealthIndicator {

    private final Holdfast locks;
    private final StoreProbe probe;
    private final Duration timeout;

    /**
     * @param locks the client whose store is asked
     * @param timeout how long the answer is waited for
     */
    public HoldfastHealthIndicator(Holdfast locks, Duration timeout) {
        this(locks, timeout, Thread::new);
    }

    HoldfastHealthIndicator(Holdfast locks, Duration timeout, ThreadFactory threads) {
        super("The store of the locks does not answer");
        this.locks = locks;
        this.probe = new StoreProbe(locks, threads);
        this.timeout = timeout;
    }

    @Override
    protected void doHealthCheck(Health.Builder health) throws Exception {
        health.withDetail("store", locks.traits().product())
                .withDetail("held", locks.heldCount())
                .withDetail("waiting", locks.waitingCount());
        try {
            Duration took = probe.ask().get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            health.up().withDetail("answered", took.toMillis() + " ms");
        } catch (TimeoutException late) {
            health.down().withDetail("error", "no answer within " + timeout.toMillis() + " ms");
        } catch (ExecutionException failed) {
            health.down(failed.getCause() == null ? failed : failed.getCause());
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
            throw interrupt;
        }
    }
}
