package dev.holdfast.etcd.session;

import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.EtcdErrors;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The one lease of a client, by which all its keys live, and until when it surely lives: the time to live, counted from
 * before the last renewal that was answered was sent. What the servers keep is later by at least the way of that request.
 *
 * <p>A lease that is not renewed by then is taken for lost, and given up: later keys get a new one. Thread-safe; nothing is
 * called under the monitor.
 */
public final class Session {

    /** The session is renewed after this part of its time, which leaves time for two more tries. */
    static final int RENEW_PART = 3;

    private final EtcdClient port;
    private final MonotonicClock clock;
    private final long ttlSeconds;
    private volatile LongConsumer lost = lease -> {};
    private @Nullable Life life;
    private @Nullable CompletableFuture<Life> asked;
    private @Nullable CompletionStage<Life> beating;

    /**
     * A lease that lives.
     *
     * @param lease its number
     * @param ttl its time to live
     * @param begun when the last answered request was sent
     */
    public record Life(long lease, long ttl, long begun) {

        long deadline() {
            return begun + ttl;
        }

        /** What is surely left of it at a moment. */
        public Duration leftAt(long now) {
            return Duration.ofNanos(Math.max(0, deadline() - now));
        }
    }

    public Session(EtcdClient port, MonotonicClock clock, Duration ttl) {
        this.port = port;
        this.clock = clock;
        this.ttlSeconds = ttl.toSeconds();
    }

    /** Who hears, once, of each lease that is over. */
    public void whenOver(LongConsumer listener) {
        lost = listener;
    }

    /** The lease, if it lives. */
    public synchronized @Nullable Life life() {
        Life known = life;
        return known != null && known.deadline() - clock.nanoTime() > 0 ? known : null;
    }

    /** The lease, a new one if there is none; several callers share one request. */
    public CompletionStage<Life> open() {
        Life known = life();
        if (known != null) {
            return CompletableFuture.completedStage(known);
        }
        expire();
        CompletableFuture<Life> question;
        synchronized (this) {
            if (asked != null) {
                return asked;
            }
            question = new CompletableFuture<>();
            asked = question;
        }
        long sentAt = clock.nanoTime();
        port.grant(ttlSeconds).whenComplete((granted, failure) -> {
            Life begun = granted == null ? null : life(granted.lease(), granted.ttlSeconds(), sentAt);
            synchronized (this) {
                life = begun;
                asked = null;
            }
            if (begun != null) {
                question.complete(begun);
            } else {
                question.completeExceptionally(failure);
            }
        });
        return question;
    }

    /** Renews the lease; fails if the servers do not answer. A lease that they do not know is lost, and a new one made. */
    public CompletionStage<Life> beat() {
        Life known = life();
        if (known == null) {
            return open();
        }
        CompletableFuture<Life> result = new CompletableFuture<>();
        synchronized (this) {
            if (beating != null) {
                // One renewal for all who ask while it is under way; it was sent before they asked, which errs to the
                // safe side.
                return beating;
            }
            beating = result;
        }
        long sentAt = clock.nanoTime();
        port.keepAlive(known.lease()).whenComplete((seconds, failure) -> {
            synchronized (this) {
                beating = null;
            }
            if (failure != null) {
                result.completeExceptionally(failure);
            } else if (seconds <= 0) {
                over(known.lease());
                open().whenComplete((next, unlucky) -> {
                    if (unlucky != null) {
                        result.completeExceptionally(unlucky);
                    } else {
                        result.complete(next);
                    }
                });
            } else {
                result.complete(prolonged(life(known.lease(), seconds, sentAt)));
            }
        });
        return result;
    }

    /** Gives up a lease whose time is over by this clock, whatever the servers think. */
    void expire() {
        Life known;
        synchronized (this) {
            known = life;
        }
        if (known != null && known.deadline() - clock.nanoTime() <= 0) {
            over(known.lease());
            // If it lives on at the servers, its keys would block others until its end there.
            port.revoke(known.lease());
        }
    }

    /** A server has said that a lease is gone. */
    void over(long lease) {
        synchronized (this) {
            if (life == null || life.lease() != lease) {
                return;
            }
            life = null;
        }
        lost.accept(lease);
    }

    /** What is left of a lease, counted from a moment; it is asked for if it is not this client's own. */
    public CompletionStage<Duration> leftOf(long lease, Life own, long since) {
        if (lease == own.lease()) {
            return CompletableFuture.completedStage(own.leftAt(since));
        }
        // A key without a lease is for ever, and so is its claim.
        return lease == 0
                ? CompletableFuture.completedStage(Claim.MAX_LEASE)
                : port.keepAlive(lease).thenApply(Duration::ofSeconds);
    }

    public static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    /** A call has failed; perhaps because the lease is gone. */
    public void failed(StoreException failure) {
        Life known = life();
        if (known != null && EtcdErrors.isLeaseGone(failure)) {
            over(known.lease());
        }
    }

    /** When the session wants to be renewed. */
    synchronized long renewAt() {
        Life known = life;
        return known == null ? clock.nanoTime() : known.begun() + known.ttl() / RENEW_PART;
    }

    // An answer that comes after the lease was given up does not bring it back.
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
