package dev.holdfast.redis;

import dev.holdfast.spi.MonotonicClock;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;

/** One server as Jedis sees it: its connections for work, that for renewals, and that for the subscriptions. */
final class JedisNode implements AutoCloseable {

    private final ConnectionSource source;
    private final Exchange exchange;
    private final ReservedConnection reserved;
    private final StandingSubscription subscription;

    /** @param displaced is given the channels that this server does not serve any more */
    JedisNode(ConnectionSource source, MonotonicClock clock, StandingSubscription.@Nullable Displaced displaced) {
        this.source = source;
        this.exchange = new Exchange(source, source.timeout(), clock);
        this.reserved = new ReservedConnection(source, clock);
        this.subscription = new StandingSubscription(source, clock, displaced);
    }

    /** A reply, or {@link Exchange.Elsewhere}. */
    @Nullable
    Object run(ScriptCall call, boolean asking) {
        Connection connection = source.borrow();
        try {
            return exchange.one(connection, call, asking);
        } finally {
            source.giveBack(connection);
        }
    }

    /** Several in one flush, on the connection for renewals: a reply, {@link Exchange.Elsewhere} or the failure for each. */
    List<@Nullable Object> runAll(List<ScriptCall> calls) {
        return reserved.use(connection -> exchange.all(connection, calls));
    }

    /** One that was sent elsewhere, on the connection for renewals. */
    @Nullable
    Object runReserved(ScriptCall call, boolean asking) {
        return reserved.use(connection -> exchange.one(connection, call, asking));
    }

    StandingSubscription subscription() {
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
