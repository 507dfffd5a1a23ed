package dev.holdfast.redis.lettuce;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.AsyncCloseable;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Connections to one server, or to the primary that the Sentinels of the URI name: Lettuce asks them at each new
 * connection.
 *
 * <p>Lettuce replaces a lost connection itself, but after pauses that grow to half a minute. It keeps a silent
 * connection for as long as the operating system does, which may be a quarter of an hour. So a call makes a new
 * connection if it finds that its connection is lost or silent, or leads to a replica.
 */
final class ServerLinks implements Links {

    private final Once<Link> work;
    private final Once<Link> renewals;
    private final Once<StatefulRedisPubSubConnection<byte[], byte[]>> pubSub;
    private final Duration timeout;
    /** A connection that should be replaced: it is silent, or leads to a replica. */
    private volatile @Nullable StatefulRedisPubSubConnection<byte[], byte[]> spentPubSub;

    private volatile @Nullable StatefulRedisPubSubConnection<byte[], byte[]> asked;

    ServerLinks(RedisClient client, RedisURI uri, Duration timeout) {
        Supplier<CompletableFuture<Link>> link =
                () -> Connecting.connect(() -> client.connectAsync(ByteArrayCodec.INSTANCE, uri))
                        .thenApply(connection -> new Link(connection, "", timeout));
        this.timeout = timeout;
        this.work = new Once<>(link, Link::isSpent, Link::close);
        this.renewals = new Once<>(link, Link::isSpent, Link::close);
        this.pubSub = new Once<>(
                () -> Connecting.connect(() -> client.connectPubSubAsync(ByteArrayCodec.INSTANCE, uri)),
                open -> !open.isOpen() || spentPubSub == open,
                AsyncCloseable::closeAsync);
    }

    /**
     * A resource that is made when it is first needed, and made again if that failed or if it is no longer usable.
     */
    static final class Once<T> {

        private final Supplier<CompletableFuture<T>> maker;
        private final Predicate<T> spent;
        private final Consumer<T> end;
        private @Nullable CompletableFuture<T> made;
        private boolean closed;

        Once(Supplier<CompletableFuture<T>> maker, Predicate<T> spent, Consumer<T> end) {
            this.maker = maker;
            this.spent = spent;
            this.end = end;
        }

        synchronized CompletableFuture<T> get() {
            if (closed) {
                return CompletableFuture.failedFuture(new IllegalStateException("the store is closed"));
            }
            if (made != null && made.isDone() && !made.isCompletedExceptionally() && spent.test(made.join())) {
                end.accept(made.join());
                made = null;
            }
            if (made == null || made.isCompletedExceptionally()) {
                try {
                    made = maker.get();
                } catch (RuntimeException ended) {
                    // A client that was shut down throws here, and the user may shut it down at any time.
                    return CompletableFuture.failedFuture(ended);
                }
            }
            return made;
        }

        synchronized void refuse() {
            closed = true;
        }

        synchronized void close() {
            closed = true;
            if (made != null) {
                made.thenAccept(end);
            }
        }
    }

    @Override
    public boolean isCluster() {
        return false;
    }

    @Override
    public List<Integer> slots() {
        return List.of(0);
    }

    @Override
    public CompletableFuture<Link> to(int slot, boolean forRenewals) {
        return (forRenewals ? renewals : work).get();
    }

    @Override
    public CompletableFuture<Link> to(@Nullable String host, int port, boolean forRenewals) {
        return CompletableFuture.failedFuture(new IllegalStateException("one server has no other nodes"));
    }

    @Override
    public CompletableFuture<StatefulRedisPubSubConnection<byte[], byte[]>> pubSub(int slot) {
        return pubSub.get();
    }

    @Override
    public void suspectPubSub() {
        CompletableFuture<StatefulRedisPubSubConnection<byte[], byte[]>> current = pubSub.get();
        if (current.isDone() && !current.isCompletedExceptionally()) {
            spentPubSub = current.join();
        }
    }

    @Override
    public void suspect() {}

    @Override
    public CompletableFuture<?> refreshed() {
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public void checkPubSub() {
        CompletableFuture<StatefulRedisPubSubConnection<byte[], byte[]>> current = pubSub.get();
        if (!current.isDone() || current.isCompletedExceptionally() || asked == current.join()) {
            return;
        }
        StatefulRedisPubSubConnection<byte[], byte[]> open = current.join();
        asked = open;
        open.async()
                .ping()
                .toCompletableFuture()
                .orTimeout(timeout.toMillis(), TimeUnit.MILLISECONDS)
                .whenComplete((pong, failure) -> {
                    if (failure instanceof TimeoutException) {
                        spentPubSub = open;
                    }
                    asked = null;
                });
    }

    @Override
    public void close() {
        work.close();
        renewals.close();
        pubSub.close();
    }

    @Override
    public void refuse() {
        work.refuse();
        renewals.refuse();
        pubSub.refuse();
    }
}
