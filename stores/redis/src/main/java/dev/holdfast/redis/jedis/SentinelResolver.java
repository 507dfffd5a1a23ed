package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.Replies;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.ServerAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Finds the server that the Sentinels name as the primary. They are asked once a second, so that a client learns of
 * a fail-over even if its old primary, cut off from the others, still answers. They are also asked when a
 * connection cannot be made. If answers differ, the one with the newest configuration epoch counts, so that a
 * Sentinel that was cut off does not lead back to the old primary.
 *
 * <p>A new connection is used only if its server itself reports the role of a primary.
 */
final class SentinelResolver implements OwnConnections.Target {

    private static final long ASK_EVERY_NANOS = TimeUnit.SECONDS.toNanos(1);

    /**
     * The shortest time between two rounds of questions. Asking after each failed connection would flood the
     * Sentinels during a fail-over.
     */
    private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private static final byte[] ADDRESS_OF = "get-master-addr-by-name".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] STATE_OF = "master".getBytes(StandardCharsets.US_ASCII);
    private static final String EPOCH = "config-epoch";

    private final List<ServerAddress> sentinels;
    private final String name;
    private final DefaultJedisClientConfig config;
    private final Duration timeout;
    private final MonotonicClock clock;
    private final ReentrantLock mutex = new ReentrantLock();
    private final @Nullable Connection[] connections;
    private final Thread asking;
    private long askedAt;
    private long epoch = -1;
    private volatile @Nullable ServerAddress primary;
    private volatile String lastProblem = "none was asked";
    private volatile boolean closed;

    SentinelResolver(RedisUrl url, MonotonicClock clock) {
        this.sentinels = url.hosts();
        this.name = String.valueOf(url.primaryName());
        this.config = OwnConnections.sentinelConfig(url);
        this.timeout = url.options().timeout();
        this.clock = clock;
        this.connections = new Connection[sentinels.size()];
        this.askedAt = clock.nanoTime() - ASK_EVERY_NANOS;
        this.asking = new Thread(this::keepAsking, "holdfast-redis-sentinel");
        asking.setDaemon(true);
        asking.start();
    }

    private void keepAsking() {
        while (!closed) {
            ask();
            clock.parkNanos(this, ASK_EVERY_NANOS);
        }
        mutex.lock();
        try {
            for (int i = 0; i < connections.length; i++) {
                drop(i);
            }
        } finally {
            mutex.unlock();
        }
    }

    // The time limit is for all Sentinels together, because some may be down with the primary's machine.
    private void ask() {
        mutex.lock();
        try {
            long now = clock.nanoTime();
            if (closed || now - askedAt < LEAST_PAUSE_NANOS) {
                return;
            }
            for (int i = 0; i < connections.length; i++) {
                if (clock.nanoTime() - now > timeout.toNanos()) {
                    break;
                }
                askOne(i);
            }
            askedAt = clock.nanoTime();
        } finally {
            mutex.unlock();
        }
    }

    private void askOne(int i) {
        ServerAddress sentinel = sentinels.get(i);
        try {
            Connection open = connections[i];
            if (open == null) {
                open = new Connection(new HostAndPort(sentinel.host(), sentinel.port()), config);
                connections[i] = open;
            }
            List<?> address = (List<?>) open.executeCommand(command(ADDRESS_OF));
            if (address == null) {
                lastProblem = sentinel + " knows no primary of the name \"" + name + "\"";
                return;
            }
            long found = epoch((List<?>) open.executeCommand(command(STATE_OF)));
            if (found >= epoch) {
                epoch = found;
                primary = new ServerAddress(Replies.text(address, 0), Integer.parseInt(Replies.text(address, 1)));
            }
        } catch (JedisDataException refused) {
            lastProblem = sentinel + " answers: " + refused.getMessage();
        } catch (JedisException | NumberFormatException broken) {
            lastProblem = sentinel + ": " + OwnConnections.innermost(broken);
            drop(i);
        }
    }

    private CommandArguments command(byte[] what) {
        return new CommandArguments(Protocol.Command.SENTINEL).add(what).add(name.getBytes(StandardCharsets.UTF_8));
    }

    private static long epoch(@Nullable List<?> state) {
        for (int i = 0; state != null && i + 1 < state.size(); i += 2) {
            if (Replies.text(state, i).equals(EPOCH)) {
                return Long.parseLong(Replies.text(state, i + 1));
            }
        }
        return 0;
    }

    private void drop(int i) {
        Connection dropped = connections[i];
        connections[i] = null;
        if (dropped != null) {
            OwnConnections.end(dropped);
        }
    }

    @Override
    public ServerAddress address() {
        ServerAddress known = primary;
        if (known == null) {
            ask();
            known = primary;
        }
        if (known == null) {
            throw StoreException.unavailable(
                    Effect.NONE,
                    "No Sentinel of " + sentinels + " names the primary \"" + name + "\" (" + lastProblem + ")",
                    null);
        }
        return known;
    }

    @Override
    public boolean isCurrent(ServerAddress address) {
        return address.equals(primary);
    }

    @Override
    public void check(Connection connection) {
        String role;
        try {
            role = Replies.text((List<?>) connection.executeCommand(new CommandArguments(Protocol.Command.ROLE)), 0);
        } catch (JedisException failure) {
            unreachable();
            throw StoreException.unavailable(
                    Effect.NONE,
                    connection.getHostAndPort() + ", which is \"" + name
                            + "\" to its Sentinels, does not report its role (" + OwnConnections.innermost(failure)
                            + ")",
                    failure);
        }
        if (!role.equals("master")) {
            unreachable();
            throw StoreException.unavailable(
                    Effect.NONE,
                    connection.getHostAndPort() + ", which is \"" + name + "\" to its Sentinels, is a " + role
                            + " at the moment; wait for the fail-over",
                    null);
        }
    }

    @Override
    public void unreachable() {
        ask();
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(asking);
    }
}
