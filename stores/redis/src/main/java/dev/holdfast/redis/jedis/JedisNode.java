package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.spi.MonotonicClock;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;

/** One server and its connections of Jedis: several for work, one for renewals, and one for the subscriptions. */
final class JedisNode implements AutoCloseable {

    private final ConnectionSource source;
    private final Exchange exchange;
    private final ReservedConnection reserved;
    private final Subscription subscription;

    /** @param displaced receives the channels that this server does not serve any more */
    JedisNode(ConnectionSource source, MonotonicClock clock, Subscription.@Nullable Displaced displaced) {
        this.source = source;
        this.reserved = new ReservedConnection(source, clock);
        this.subscription = new Subscription(source, clock, displaced);
        this.exchange = new Exchange(source, source.timeout(), clock, subscription::replace);
    }

    /** Returns a reply, or {@link Exchange.Redirection}. */
    @Nullable
    Object run(ServerCall call, boolean asking) {
        Connection connection = source.borrow();
        try {
            return exchange.one(connection, call, asking);
        } finally {
            source.giveBack(connection);
        }
    }

    /**
     * Sends several calls in one flush, on the connection for renewals. Returns a reply,
     * {@link Exchange.Redirection} or the failure for each.
     */
    List<@Nullable Object> runAll(List<ServerCall> calls) {
        return reserved.use(connection -> exchange.all(connection, calls));
    }

    /** Sends a call that was redirected to this node, on the connection for renewals. */
    @Nullable
    Object runReserved(ServerCall call, boolean asking) {
        return reserved.use(connection -> exchange.one(connection, call, asking));
    }

    Subscription subscription() {
        return subscription;
    }

    @Override
    public void close() {
        source.close();
        subscription.close();
        reserved.close();
    }

    @Override
    public String toString() {
        return String.valueOf(source);
    }
}
