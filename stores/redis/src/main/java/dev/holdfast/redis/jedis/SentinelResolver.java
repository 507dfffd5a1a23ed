package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.Replies;
import dev.holdfast.redis.config.RedisUrl;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.ServerAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
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
 * Finds the server that the Sentinels name as the primary. Each Sentinel has a thread that asks it once a second, so
 * that a silent one delays no other, and a client learns of a fail-over even if its old primary, cut off from the
 * others, still answers. All are also asked when a connection cannot be made.
 *
 * <p>If answers differ, the newest configuration epoch counts, so that a Sentinel that was cut off does not lead back
 * to the old primary. Sentinels that were set up anew begin with epoch 0: an epoch that is older than the last one
 * counts if the Sentinels at more than half of the hosts have named its primary for ten seconds. One host name may stand
 * for several Sentinels, so after each answer with an older epoch a new connection is made, which may reach another one.
 *
 * <p>A new connection is used only if its server itself reports the role of a primary.
 */
final class SentinelResolver implements OwnConnections.Target {

    private static final long ASK_EVERY_NANOS = TimeUnit.SECONDS.toNanos(1);

    /**
     * The shortest time between two questions to a Sentinel. Asking after each failed connection would flood the
     * Sentinels during a fail-over.
     */
    private static final long LEAST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /**
     * For how long an older epoch must be named before it counts. A Sentinel that can reach the others learns of a newer
     * one within two seconds.
     */
    private static final long INSIST_NANOS = TimeUnit.SECONDS.toNanos(10);

    private static final byte[] ADDRESS_OF = "get-master-addr-by-name".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] STATE_OF = "master".getBytes(StandardCharsets.US_ASCII);
    private static final String EPOCH = "config-epoch";

    private final List<Sentinel> sentinels;
    private final String name;
    private final DefaultJedisClientConfig config;
    private final Duration timeout;
    private final MonotonicClock clock;
    private final ReentrantLock mutex = new ReentrantLock();
    private final Condition changed = mutex.newCondition();
    private long epoch = -1;
    private String lastProblem = "none has answered";
    private volatile @Nullable ServerAddress primary;
    private volatile boolean closed;

    /** What a Sentinel has answered. */
    private record Answer(ServerAddress primary, long epoch) {}

    SentinelResolver(RedisUrl url, MonotonicClock clock) {
        this.name = String.valueOf(url.primaryName());
        this.config = OwnConnections.sentinelConfig(url);
        this.timeout = url.options().timeout();
        this.clock = clock;
        this.sentinels = url.hosts().stream().distinct().map(Sentinel::new).toList();
        try {
            sentinels.forEach(sentinel -> sentinel.thread.start());
        } catch (OutOfMemoryError tooManyThreads) {
            // Those that were started would go on for ever.
            closed = true;
            throw tooManyThreads;
        }
    }

    /** The Sentinel at one host, and the thread that asks it. */
    private final class Sentinel {

        private final ServerAddress address;
        private final Thread thread;
        /** Used by the thread only. */
        private @Nullable Connection connection;

        private boolean wasAsked;
        private @Nullable Answer answer;
        /**
         * Whether all answers since a moment, {@code behindSince}, had an older epoch than the last one that counted, and
         * named the same primary.
         */
        private boolean behind;

        private long behindSince;

        private Sentinel(ServerAddress address) {
            this.address = address;
            this.thread = new Thread(this::keepAsking, "holdfast-redis-sentinel-" + address);
            thread.setDaemon(true);
        }

        private void keepAsking() {
            while (!closed) {
                long askedAt = clock.nanoTime();
                askSafely();
                clock.parkNanos(this, ASK_EVERY_NANOS);
                for (long early = early(askedAt); early > 0 && !closed; early = early(askedAt)) {
                    clock.parkNanos(this, early);
                }
            }
            drop();
        }

        // Whatever is thrown: nobody would start another thread.
        private void askSafely() {
            try {
                ask();
            } catch (Error noMemory) {
                drop();
            }
        }

        private long early(long askedAt) {
            return LEAST_PAUSE_NANOS - (clock.nanoTime() - askedAt);
        }

        private void ask() {
            try {
                Connection open = connection == null
                        ? new Connection(new HostAndPort(address.host(), address.port()), config)
                        : connection;
                connection = open;
                List<?> found = (List<?>) open.executeCommand(command(ADDRESS_OF));
                if (found == null) {
                    failed("knows no primary of the name \"" + name + "\"");
                    return;
                }
                long newest = epochIn((List<?>) open.executeCommand(command(STATE_OF)));
                ServerAddress named =
                        new ServerAddress(Replies.text(found, 0), Integer.parseInt(Replies.text(found, 1)));
                answered(new Answer(named, newest));
            } catch (JedisDataException refused) {
                failed("answers: " + refused.getMessage());
            } catch (JedisException broken) {
                failed("is out of reach: " + OwnConnections.innermost(broken));
                drop();
            } catch (RuntimeException unreadable) {
                // For example, a Sentinel that cannot resolve the name of the primary leaves out its host.
                failed("gives an answer that cannot be read: " + unreadable);
            }
        }

        private void answered(Answer given) {
            mutex.lock();
            try {
                wasAsked = true;
                boolean same = answer != null && answer.primary().equals(given.primary());
                answer = given;
                note(given.epoch() < epoch, same);
                decide();
                if (given.epoch() < epoch) {
                    drop();
                }
                changed.signalAll();
            } finally {
                mutex.unlock();
            }
        }

        private void note(boolean older, boolean same) {
            if (older && !(behind && same)) {
                behindSince = clock.nanoTime();
            }
            behind = older;
        }

        private boolean insistsOn(ServerAddress server) {
            return behind
                    && clock.nanoTime() - behindSince >= INSIST_NANOS
                    && answer != null
                    && answer.primary().equals(server);
        }

        private void failed(String problem) {
            mutex.lock();
            try {
                wasAsked = true;
                answer = null;
                behind = false;
                lastProblem = address + " " + problem;
                changed.signalAll();
            } finally {
                mutex.unlock();
            }
        }

        private void drop() {
            Connection dropped = connection;
            connection = null;
            if (dropped != null) {
                OwnConnections.end(dropped);
            }
        }
    }

    // Called with the mutex held. Of several answers with the newest epoch, one that names the known primary wins: a
    // host may have several names.
    private void decide() {
        Optional<Answer> newest = answers().stream()
                .max(Comparator.comparingLong(Answer::epoch)
                        .thenComparing(answer -> answer.primary().equals(primary)));
        newest.filter(answer -> answer.epoch() >= epoch || mostInsistOn(answer.primary()))
                .ifPresent(answer -> {
                    epoch = answer.epoch();
                    primary = answer.primary();
                });
    }

    private List<Answer> answers() {
        return sentinels.stream()
                .map(sentinel -> sentinel.answer)
                .filter(Objects::nonNull)
                .toList();
    }

    private boolean mostInsistOn(ServerAddress server) {
        long votes = sentinels.stream()
                .filter(sentinel -> sentinel.insistsOn(server))
                .count();
        return 2 * votes > sentinels.size();
    }

    private CommandArguments command(byte[] what) {
        return new CommandArguments(Protocol.Command.SENTINEL).add(what).add(name.getBytes(StandardCharsets.UTF_8));
    }

    private static long epochIn(@Nullable List<?> state) {
        for (int i = 0; state != null && i + 1 < state.size(); i += 2) {
            if (Replies.text(state, i).equals(EPOCH)) {
                return Long.parseLong(Replies.text(state, i + 1));
            }
        }
        return 0;
    }

    @Override
    public ServerAddress address() {
        ServerAddress known = primary;
        if (known == null) {
            known = first();
        }
        return known;
    }

    /**
     * Waits until most Sentinels have answered, or all have answered or failed. For silent ones it waits half of the
     * timeout if another one has named a primary, and else all of it.
     */
    private ServerAddress first() {
        unreachable();
        boolean interrupted = false;
        long start = clock.nanoTime();
        mutex.lock();
        try {
            while (2 * answers().size() <= sentinels.size()
                    && !sentinels.stream().allMatch(sentinel -> sentinel.wasAsked)) {
                long limit = primary == null ? timeout.toNanos() : timeout.toNanos() / 2;
                long left = limit - (clock.nanoTime() - start);
                if (left <= 0) {
                    break;
                }
                try {
                    long ignored = changed.awaitNanos(left);
                } catch (InterruptedException keptForLater) {
                    interrupted = true;
                }
            }
            ServerAddress known = primary;
            if (known == null) {
                throw StoreException.unavailable(
                        Effect.NONE,
                        "No Sentinel of "
                                + sentinels.stream()
                                        .map(sentinel -> sentinel.address)
                                        .toList()
                                + " names the primary \"" + name + "\" (" + lastProblem + ")",
                        null);
            }
            return known;
        } finally {
            mutex.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public boolean isCurrent(ServerAddress address) {
        return address.equals(primary);
    }

    @Override
    public void check(Connection connection, ServerAddress address) {
        String role;
        try {
            role = Replies.text((List<?>) connection.executeCommand(new CommandArguments(Protocol.Command.ROLE)), 0);
        } catch (JedisException failure) {
            unreachable();
            throw StoreException.unavailable(
                    Effect.NONE,
                    address + ", which is \"" + name
                            + "\" to its Sentinels, does not report its role (" + OwnConnections.innermost(failure)
                            + ")",
                    failure);
        }
        if (!role.equals("master")) {
            unreachable();
            throw StoreException.unavailable(
                    Effect.NONE,
                    address + ", which is \"" + name + "\" to its Sentinels, is a " + role
                            + " at the moment; wait for the fail-over",
                    null);
        }
    }

    @Override
    public void unreachable() {
        sentinels.forEach(sentinel -> LockSupport.unpark(sentinel.thread));
    }

    @Override
    public void close() {
        closed = true;
        sentinels.forEach(sentinel -> LockSupport.unpark(sentinel.thread));
    }
}
