package dev.holdfast.etcd.session;

import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.EtcdErrors;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The one lease of a client, to which all its keys are attached, and the time until which it is certain to live:
 * the time to live, less a hundredth, counted from just before the last answered renewal was sent. The servers count
 * from later, because that request had to arrive first.
 *
 * <p>A lease that is not renewed by then counts as lost and is given up: later keys get a new one. Thread-safe; no
 * request is sent and no listener is called while the monitor is held.
 */
public final class Session {

    /** The session is renewed after its time to live divided by this, which leaves time for two more attempts. */
    static final int RENEW_PART = 3;

    /** By which part of the time the clocks of this client and of the servers may drift apart. */
    private static final int DRIFT_PART = 100;

    private final EtcdClient client;
    private final MonotonicClock clock;
    private final long ttlSeconds;
    private volatile LongConsumer onOver = lease -> {};
    private @Nullable Life life;
    private @Nullable CompletableFuture<Life> opening;
    private @Nullable CompletionStage<Life> renewing;
    /** The lease that was given up last, and the end of its revocation. */
    private long givenUp;

    private CompletionStage<Void> revocation = CompletableFuture.completedStage(null);

    /**
     * A lease that is alive.
     *
     * @param lease its number
     * @param ttl its time to live, in nanoseconds
     * @param begun when the last answered request was sent
     */
    public record Life(long lease, long ttl, long begun) {

        /** Clocks may differ by a hundredth, also in the time that is over. */
        long deadline() {
            return begun + ttl - ttl / DRIFT_PART;
        }

        /**
         * For how long a claim lasts from a given moment on, as a store reports it: who is granted it takes off a hundredth of
         * that, and is at the deadline then.
         */
        public Duration leftAt(long now) {
            return Duration.ofNanos(Math.max(0, (deadline() - now) * DRIFT_PART / (DRIFT_PART - 1)));
        }
    }

    public Session(EtcdClient client, MonotonicClock clock, Duration ttl) {
        this.client = client;
        this.clock = clock;
        this.ttlSeconds = ttl.toSeconds();
    }

    /** Sets the listener that is called, once, for each lease that is over. */
    public void whenOver(LongConsumer listener) {
        onOver = listener;
    }

    /** The lease if it is alive, else null. */
    public synchronized @Nullable Life life() {
        Life known = life;
        return known != null && known.deadline() - clock.nanoTime() > 0 ? known : null;
    }

    /** Whether this lease is still the one of the client. */
    public boolean isAlive(Life known) {
        Life now = life();
        return now != null && now.lease() == known.lease();
    }

    /** The lease, or a new one if there is none; concurrent callers share one request. */
    public CompletionStage<Life> open() {
        Life known = life();
        if (known != null) {
            return CompletableFuture.completedStage(known);
        }
        expire();
        CompletableFuture<Life> result;
        synchronized (this) {
            if (opening != null) {
                return opening;
            }
            result = new CompletableFuture<>();
            opening = result;
        }
        long sentAt = clock.nanoTime();
        // Whatever goes wrong, for want of memory too, it is not under way any more: else all would wait for ever.
        try {
            client.grant(ttlSeconds).whenComplete((granted, failure) -> {
                try {
                    if (granted == null) {
                        openingFailed(result, failure);
                    } else {
                        opened(result, life(granted.lease(), granted.ttlSeconds(), sentAt));
                    }
                } catch (RuntimeException | Error noMemory) {
                    openingFailed(result, noMemory);
                }
            });
        } catch (RuntimeException | Error noMemory) {
            openingFailed(result, noMemory);
        }
        return result;
    }

    /**
     * Does something with the lease, or with a new one if there is none. Nearly always there is one. Then the work begins at
     * once: a stage less is less code that a young JVM has to compile.
     *
     * @return fails also with what the work throws
     */
    public <T> CompletionStage<T> with(Function<Life, CompletionStage<T>> work) {
        Life known = life();
        if (known == null) {
            return open().thenCompose(work);
        }
        try {
            return work.apply(known);
        } catch (RuntimeException | Error failure) {
            return CompletableFuture.failedStage(failure);
        }
    }

    private void opened(CompletableFuture<Life> result, Life begun) {
        synchronized (this) {
            life = begun;
            opening = null;
        }
        result.complete(begun);
    }

    private void openingFailed(CompletableFuture<Life> result, Throwable failure) {
        synchronized (this) {
            opening = opening == result ? null : opening;
        }
        result.completeExceptionally(failure);
    }

    /**
     * Renews the lease; fails if the servers do not answer. A lease that they do not know is lost, and a new one is
     * created.
     */
    public CompletionStage<Life> renew() {
        Life known = life();
        if (known == null) {
            return open();
        }
        CompletableFuture<Life> result = new CompletableFuture<>();
        synchronized (this) {
            if (renewing != null) {
                // All callers share the renewal that is under way. It was sent before they called, so the time that
                // is counted from it is rather too short than too long.
                return renewing;
            }
            renewing = result;
        }
        long sentAt = clock.nanoTime();
        // See open.
        try {
            client.keepAlive(known.lease()).whenComplete((seconds, failure) -> {
                try {
                    if (failure != null) {
                        renewalFailed(result, failure);
                    } else {
                        renewed(result, known.lease(), seconds, sentAt);
                    }
                } catch (RuntimeException | Error noMemory) {
                    renewalFailed(result, noMemory);
                }
            });
        } catch (RuntimeException | Error noMemory) {
            renewalFailed(result, noMemory);
        }
        return result;
    }

    private void renewed(CompletableFuture<Life> result, long lease, long seconds, long sentAt) {
        synchronized (this) {
            renewing = null;
        }
        if (seconds > 0) {
            result.complete(prolonged(life(lease, seconds, sentAt)));
            return;
        }
        over(lease);
        open().whenComplete((next, failed) -> {
            if (failed != null) {
                result.completeExceptionally(failed);
            } else {
                result.complete(next);
            }
        });
    }

    private void renewalFailed(CompletableFuture<Life> result, Throwable failure) {
        synchronized (this) {
            renewing = renewing == result ? null : renewing;
        }
        result.completeExceptionally(failure);
    }

    /** Gives up a lease whose time is over by this client's clock, even if the servers still keep it. */
    void expire() {
        CompletableFuture<Void> answered = new CompletableFuture<>();
        long lease;
        synchronized (this) {
            Life known = life;
            if (known == null || known.deadline() - clock.nanoTime() > 0) {
                return;
            }
            lease = known.lease();
            life = null;
            givenUp = lease;
            revocation = answered;
        }
        try {
            onOver.accept(lease);
        } finally {
            // If the servers still keep it, its keys would block other clients until it ends there.
            revoke(lease, answered);
        }
    }

    private void revoke(long lease, CompletableFuture<Void> answered) {
        try {
            client.revoke(lease).whenComplete((done, failure) -> answered.complete(null));
        } catch (RuntimeException | Error noMemory) {
            // No answer will come, and renewals of claims under this lease need not wait for one.
            answered.complete(null);
            throw noMemory;
        }
    }

    // The revocation of a lease that was given up may be under way: until it is answered, the servers would say that
    // the lease lives.
    private synchronized CompletionStage<Void> revocationOf(long lease) {
        return lease == givenUp ? revocation : CompletableFuture.completedStage(null);
    }

    /** A lease is over: forgets it and calls the listener. */
    void over(long lease) {
        synchronized (this) {
            if (life == null || life.lease() != lease) {
                return;
            }
            life = null;
        }
        onOver.accept(lease);
    }

    /**
     * The remaining time of a lease, counted from a given moment. A lease of another client is renewed to find out.
     */
    public CompletionStage<Duration> leftOf(long lease, Life own, long since) {
        if (lease == own.lease()) {
            return CompletableFuture.completedStage(own.leftAt(since));
        }
        // A key without a lease never expires, and neither does its claim.
        return lease == 0
                ? CompletableFuture.completedStage(Claim.MAX_LEASE)
                : revocationOf(lease)
                        .thenCompose(done -> client.keepAlive(lease))
                        .thenApply(Duration::ofSeconds);
    }

    public static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    /** Checks whether a call failed because the lease is gone. */
    public void failed(StoreException failure) {
        Life known = life();
        if (known != null && EtcdErrors.isLeaseGone(failure)) {
            over(known.lease());
        }
    }

    /** When the session is due to be renewed. */
    synchronized long renewAt() {
        Life known = life;
        return known == null ? clock.nanoTime() : known.begun() + known.ttl() / RENEW_PART;
    }

    // An answer that comes after the lease was given up does not restore it.
    private synchronized Life prolonged(Life longer) {
        Life known = life;
        if (known != null && known.lease() == longer.lease() && known.begun() - longer.begun() < 0) {
            life = longer;
        }
        return longer;
    }

    private static Life life(long lease, long seconds, long sentAt) {
        return new Life(lease, Duration.ofSeconds(seconds).toNanos(), sentAt);
    }
}
