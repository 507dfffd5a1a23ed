package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.config.Layout;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.StoreTest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.params.MigrateParams;

/**
 * Locks with two keys while their slot is being moved to another node. When one of the keys has been moved and the other
 * one has not, or when one does not exist, neither node can serve both, and the other node answers {@code TRYAGAIN}.
 */
public abstract class DividedSlotLaws extends StoreTest {

    private static final Duration STEP = Duration.ofMillis(100);

    private static RedisCluster cluster;

    private final int slot = HashSlot.of(name.value().getBytes(StandardCharsets.UTF_8));

    @BeforeAll
    static void startTheCluster() {
        cluster = RedisCluster.start();
    }

    @AfterAll
    static void stopTheCluster() {
        cluster.close();
    }

    /**
     * Opens a store.
     *
     * @param url the URL in the form for Jedis
     */
    protected abstract LockStore open(String url, MonotonicClock clock);

    private LockStore open(Layout layout, String options, MonotonicClock clock) {
        String prefix = layout == Layout.RECORD ? "" : "&prefix=";
        return closing(open(cluster.url() + "?layout=" + layout + prefix + options, clock));
    }

    /** A slot whose move has begun. */
    private final class Move implements AutoCloseable {

        private final RedisServer from = cluster.primaryOf(name.value());
        private final RedisServer to = cluster.servers().stream()
                .filter(server -> server != from
                        && server.ask(jedis -> jedis.info("replication")).contains("role:master"))
                .findFirst()
                .orElseThrow();
        private final long before;

        private Move() {
            before = refused();
            RedisCluster.beginToMove(slot, from, to);
        }

        private void move(String key) {
            from.ask(jedis -> jedis.migrate("127.0.0.1", to.port(), 5_000, new MigrateParams(), key));
        }

        /** Waits until the nodes have refused this many calls since the move began. */
        private void awaitRefused(int calls) {
            awaitUntil(() -> refused() >= before + calls);
        }

        /** The same, or until all calls are done. */
        private void awaitRefused(int times, List<CompletionStage<?>> calls) {
            awaitUntil(() -> refused() >= before + times || calls.stream().allMatch(DividedSlotLaws::isDone));
        }

        private long refused() {
            return Stream.of(from, to)
                    .map(node -> node.ask(jedis -> jedis.info("errorstats")))
                    .mapToLong(stats -> stats.contains("errorstat_TRYAGAIN")
                            ? Long.parseLong(stats.replaceAll("(?s).*errorstat_TRYAGAIN:count=(\\d+).*", "$1"))
                            : 0)
                    .sum();
        }

        @Override
        public void close() {
            RedisCluster.migrateKeys(slot, from, to);
            RedisCluster.endMove(slot, from, to);
            cluster.awaitReady();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Layout.class,
            names = {"PLAIN", "MIXED", "REDISSON", "TIMESTAMPS"})
    void callsGoOnWhenTheKeysAreAtOneNodeAgain(Layout layout) {
        // By a clock that stands still there is always time for one more repetition.
        LockStore store = open(layout, "", new ManualClock());
        Claim holder = alice.mutex(name);
        granted(store, holder);
        LockName free = new LockName("{" + name + "}-free");
        CompletionStage<?> refused;
        CompletionStage<?> first;
        CompletionStage<?> seen;
        try (Move move = new Move()) {
            move.move(name.value());
            refused = store.tryAcquire(bob.mutex(name));
            seen = store.inspect(name);
            first = store.tryAcquire(bob.mutex(free));
            move.awaitRefused(9);
            for (CompletionStage<?> call : List.of(refused, seen, first)) {
                assertThat(isDone(call)).isFalse();
            }
        }
        assertThat(get(refused)).isInstanceOf(Attempt.Busy.class);
        assertThat(get(seen).toString()).contains(holder.id().toString());
        assertThat(get(first)).isInstanceOf(Granted.class);
        CompletionStage<Released> released;
        try (Move move = new Move()) {
            move.move(name.value());
            released = store.release(holder.again());
            move.awaitRefused(2);
        }
        assertThat(get(released).wasOwner()).isTrue();
        granted(store, bob.mutex(name));
    }

    @ParameterizedTest
    @EnumSource(
            value = Layout.class,
            names = {"PLAIN", "MIXED", "REDISSON", "TIMESTAMPS"})
    void callsEndWithoutEffectWhenTheKeysAreAtTwoNodesForTooLong(Layout layout) {
        ManualClock clock = new ManualClock();
        LockStore store = open(layout, "", clock);
        Claim holder = alice.mutex(name);
        long counter = granted(store, holder).counter();
        try (Move move = new Move()) {
            move.move(name.value());
            Claim late = bob.mutex(name);
            List<CompletionStage<?>> calls =
                    List.of(store.tryAcquire(late), store.inspect(name), store.release(late.again()));
            // The nodes are seen to refuse each call again before the time goes on, so that none takes long by this
            // clock.
            for (int i = 1; !calls.stream().allMatch(DividedSlotLaws::isDone); i++) {
                move.awaitRefused(i, calls);
                clock.advance(STEP);
            }
            calls.forEach(call -> assertMayBeRepeated(failure(call)));
            for (int i = 0; i < 3; i++) {
                assertMayBeRepeated(failure(store.renew(List.of(holder))));
            }
        }
        assertThat(repaired(() -> renewed(store, holder)))
                .isInstanceOfSatisfying(
                        Granted.class, held -> assertThat(held.counter()).isEqualTo(counter));
        assertThat(released(store, holder)).isTrue();
        granted(store, bob.mutex(name));
    }

    private static boolean isDone(CompletionStage<?> call) {
        return call.toCompletableFuture().isDone();
    }

    private static void assertMayBeRepeated(StoreException failure) {
        assertThat(failure).hasMessageContaining("moving the slot");
        assertThat(failure.effect()).isEqualTo(Effect.NONE);
        assertThat(failure.retryable()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(
            value = Layout.class,
            names = {"PLAIN", "MIXED", "REDISSON", "TIMESTAMPS", "RECORD"})
    void renewalFailsOfNoOtherLockInTheSlot(Layout layout) {
        LockStore store = open(layout, "", MonotonicClock.SYSTEM);
        List<Claim> claims = IntStream.range(0, 6)
                .mapToObj(i -> alice.mutex(new LockName("{" + name + "}-" + i)))
                .toList();
        claims.forEach(claim -> granted(store, claim));
        try (Move move = new Move()) {
            for (String key : move.from.ask(jedis -> jedis.clusterGetKeysInSlot(slot, 100))) {
                if (key.matches(".*-[23]}?") || key.equals(claims.get(4).name().value())) {
                    move.move(key);
                }
            }
            List<Renewed> answers = get(store.renew(claims));
            for (int i = 0; i < answers.size(); i++) {
                if (i == 4 && layout != Layout.RECORD) {
                    assertThat(answers.get(i))
                            .isInstanceOfSatisfying(
                                    Renewed.Failed.class, failed -> assertMayBeRepeated(failed.cause()));
                } else {
                    assertThat(answers.get(i)).as("%s", claims.get(i)).isInstanceOf(Granted.class);
                }
            }
            assertThat(get(store.list("{" + name, 10))).hasSameSizeAs(claims);
        }
        assertThat(repaired(() -> get(store.renew(claims)))).hasSize(6).allMatch(Granted.class::isInstance);
    }
}
