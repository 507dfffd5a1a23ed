package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.spi.MonotonicClock;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;

/** One server as Jedis sees it: its connections for work, that for renewals, and that for the subscriptions. */
final class JedisNode implements AutoCloseable {

    private final ConnectionSource source;
    private final Exchange exchange;
    private final ReservedConnection reserved;
    private final Subscription subscription;

    /** @param displaced is given the channels that this server does not serve any more */
    JedisNode(ConnectionSource source, MonotonicClock clock, Subscription.@Nullable Displaced displaced) {
        this.source = source;
        this.exchange = new Exchange(source, source.timeout(), clock);
        this.reserved = new ReservedConnection(source, clock);
        this.subscription = new Subscription(source, clock, displaced);
    }

    /** A reply, or {@link Exchange.Elsewhere}. */
    @Nullable
    Object run(ServerCall call, boolean asking) {
        Connection connection = source.borrow();
        try {
            return exchange.one(connection, call, asking);
        } finally {
            source.giveBack(connection);
        }
    }

    /** Several in one flush, on the connection for renewals: a reply, {@link Exchange.Elsewhere} or the failure for each. */
    List<@Nullable Object> runAll(List<ServerCall> calls) {
        return reserved.use(connection -> exchange.all(connection, calls));
    }

    /** One that was sent elsewhere, on the connection for renewals. */
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
