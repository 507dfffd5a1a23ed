package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.support.InternalRedisLockProvider;
import net.javacrumbs.shedlock.provider.redis.support.InternalRedisLockTemplate;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.params.SetParams;

/**
 * ShedLock and Holdfast on the same key, so that a service can move from one to the other while both run. What each of
 * ShedLock's Redis providers adds to the class that is used here are the four commands below.
 */
class ShedLockInteropTest extends WithServer {

    private static final int ROUNDS = 50;
    private static final Duration MOST = Duration.ofMinutes(1);

    private final RedisClient jedis = closing(RedisClient.create("127.0.0.1", server.port()));
    private final String job = name.value();
    private InternalRedisLockProvider theirs;
    private DistributedLock ours;

    @BeforeEach
    void connect() {
        theirs = new InternalRedisLockProvider(
                new Commands(), "production", InternalRedisLockProvider.DEFAULT_KEY_PREFIX, true);
        Holdfast locks = closing(Holdfast.connect(server.url() + "?layout=plain&prefix=job-lock:production:"));
        ours = locks.lock(job);
    }

    @Test
    void theirLockExcludesOurs() {
        SimpleLock held = lockTheirs(Duration.ZERO).orElseThrow();
        assertThat(ours.tryLock()).isFalse();
        SimpleLock extended = held.extend(MOST, Duration.ZERO).orElseThrow();
        assertThat(ours.tryLock()).isFalse();
        extended.unlock();
        assertThat(ours.tryLock()).isTrue();
        ours.unlock();
    }

    /** Their time of locking at least is an expiry of the key, which their unlock sets instead of deleting it. */
    @Test
    void theirLockExcludesOursForItsLeastTime() {
        lockTheirs(Duration.ofSeconds(2)).orElseThrow().unlock();
        assertThat(ours.tryLock()).isFalse();
        ours.lock();
        ours.unlock();
    }

    @Test
    void ourLockExcludesTheirs() {
        ours.lock();
        assertThat(lockTheirs(Duration.ZERO)).isEmpty();
        ours.unlock();
        assertThat(lockTheirs(Duration.ZERO)).isPresent();
    }

    @Test
    void bothExcludeEachOtherUnderContention() throws InterruptedException {
        AtomicBoolean inside = new AtomicBoolean();
        AtomicInteger rounds = new AtomicInteger();
        ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            threads.add(new Thread(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    Optional<SimpleLock> held = lockTheirs(Duration.ZERO);
                    while (held.isEmpty()) {
                        pause(1);
                        held = lockTheirs(Duration.ZERO);
                    }
                    round(inside, rounds);
                    held.get().unlock();
                }
            }));
            threads.add(new Thread(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    ours.lock();
                    round(inside, rounds);
                    ours.unlock();
                }
            }));
        }
        threads.forEach(thread -> thread.setUncaughtExceptionHandler((where, failure) -> failures.add(failure)));
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(failures).isEmpty();
        assertThat(rounds).hasValue(4 * ROUNDS);
    }

    private static void round(AtomicBoolean inside, AtomicInteger rounds) {
        assertThat(inside.getAndSet(true)).as("another one is inside").isFalse();
        pause(1);
        inside.set(false);
        rounds.incrementAndGet();
    }

    private Optional<SimpleLock> lockTheirs(Duration least) {
        return theirs.lock(new LockConfiguration(Instant.now(), job, MOST, least));
    }

    private final class Commands implements InternalRedisLockTemplate {

        @Override
        public boolean setIfAbsent(String key, String value, long expirationMs) {
            return jedis.set(key, value, SetParams.setParams().nx().px(expirationMs)) != null;
        }

        @Override
        public boolean setIfPresent(String key, String value, long expirationMs) {
            return jedis.set(key, value, SetParams.setParams().xx().px(expirationMs)) != null;
        }

        @Override
        public Object eval(String script, String key, String... values) {
            return jedis.eval(script, List.of(key), List.of(values));
        }

        @Override
        public void delete(String key) {
            jedis.del(key);
        }
    }
}
