package dev.holdfast.benchmarks.subject;

import dev.holdfast.workload.Section;
import dev.holdfast.workload.Subject;
import java.net.URI;
import java.util.UUID;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.SetParams;

/**
 * The simplest lock on Redis, by a Jedis connection for each thread. {@code floor}: {@code SET NX PX} and a script
 * that compares and deletes; it does not wait. {@code floor-blpop}: a token in a list, which waiters take by a
 * blocking pop; no lease and no owner, so not a lock to use, but the fastest hand-over by the server.
 */
public final class JedisFloor implements Subject {

    static final String COMPARE_AND_DELETE =
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";

    private static final int POP_SECONDS = 60;

    private final PerThread<Jedis> connections;
    private final boolean blocking;
    private final String sha;

    public JedisFloor(String url, boolean blocking) {
        this.connections = new PerThread<>(() -> new Jedis(URI.create(url), 120_000));
        this.blocking = blocking;
        this.sha = connections.get().scriptLoad(COMPARE_AND_DELETE);
    }

    @Override
    public Section mutex(String name) {
        return blocking ? new Token(name) : new Value(name);
    }

    private final class Value implements Section {
        private static final SetParams FREE = SetParams.setParams().nx().px(30_000);
        private final String name;
        private final String value = UUID.randomUUID().toString();

        Value(String name) {
            this.name = name;
        }

        @Override
        public void enter() {
            if (connections.get().set(name, value, FREE) == null) {
                throw new IllegalStateException(name + " is not free");
            }
        }

        @Override
        public void leave() {
            if (!Long.valueOf(1).equals(connections.get().evalsha(sha, 1, name, value))) {
                throw new IllegalStateException(name + " was lost");
            }
        }
    }

    private final class Token implements Section {
        private final String list;

        Token(String name) {
            this.list = name + "-token";
            // Whoever comes first puts the only token there.
            if (connections.get().set(name + "-made", "1", SetParams.setParams().nx()) != null) {
                connections.get().rpush(list, "token");
            }
        }

        @Override
        public void enter() {
            if (connections.get().blpop(POP_SECONDS, list) == null) {
                throw new IllegalStateException(list + " was empty for " + POP_SECONDS + " s");
            }
        }

        @Override
        public void leave() {
            connections.get().rpush(list, "token");
        }
    }

    @Override
    public void close() throws Exception {
        connections.close();
    }
}
