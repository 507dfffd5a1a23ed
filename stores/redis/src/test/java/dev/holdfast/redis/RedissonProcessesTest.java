package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.LockOptions;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.ChildJvm;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Transaction;

/**
 * Processes with Redisson and processes with Holdfast increment one counter under one lock, each by reading it and writing
 * it in two steps. Some are killed, anywhere and between the two steps, and replaced. No increment may be lost.
 */
class RedissonProcessesTest extends StoreTest {

    private static final int PROCESSES_OF_EACH = 4;
    private static final int RANDOM_KILLS = 6;
    private static final Duration RUN = Duration.ofSeconds(20);
    /** The lock of a process that is killed is free after this time. */
    private static final Duration LEASE = Duration.ofSeconds(4);

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int LEAST = 50;
    private static final String LOCK = "counted";
    private static final String COUNTER = "counter";
    private static final String LEDGER = "ledger";
    private static final List<String> SMALL = List.of("-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1");

    /** Whose lock a process uses. */
    enum Side {
        THEIRS,
        OURS
    }

    private record Counting(Side side, ChildJvm process) {}

    private final Random random = new Random(Seeds.of("redisson processes"));
    private final RedisServer server = closing(RedisServer.start());
    private final List<Counting> running = new ArrayList<>();

    @Test
    void noIncrementIsLostWhileProcessesAreKilled() {
        for (int i = 0; i < PROCESSES_OF_EACH; i++) {
            running.add(start(Side.THEIRS));
            running.add(start(Side.OURS));
        }
        running.forEach(one -> one.process().expect("READY", PATIENCE));
        long end = System.nanoTime() + RUN.toNanos();
        List<Runnable> kills = kills();
        for (int i = 0; i < kills.size(); i++) {
            long left = end - System.nanoTime();
            pause(TimeUnit.NANOSECONDS.toMillis(Math.max(0, left / (kills.size() - i + 1))));
            kills.get(i).run();
        }
        pause(TimeUnit.NANOSECONDS.toMillis(Math.max(0, end - System.nanoTime())));
        running.forEach(one -> one.process().send("stop"));
        running.forEach(one -> one.process().expect("DONE", PATIENCE));
        check();
    }

    // Two are killed while they hold the lock, at the worst moment, one of each side; the others wherever they are.
    private List<Runnable> kills() {
        List<Runnable> kills = new ArrayList<>();
        for (Side side : Side.values()) {
            kills.add(() -> {
                Counting victim =
                        any(running.stream().filter(one -> one.side() == side).toList());
                victim.process().send("stay");
                victim.process().expect("INSIDE", PATIENCE);
                replace(victim);
            });
        }
        for (int i = 0; i < RANDOM_KILLS; i++) {
            kills.add(() -> replace(any(running)));
        }
        Collections.shuffle(kills, random);
        return kills;
    }

    private Counting any(List<Counting> some) {
        return some.get(random.nextInt(some.size()));
    }

    private void replace(Counting victim) {
        victim.process().kill();
        running.set(running.indexOf(victim), start(victim.side()));
    }

    private Counting start(Side side) {
        return new Counting(
                side,
                closing(ChildJvm.start(
                        SMALL, Process.class, side.name(), server.url(), Integer.toString(server.port()))));
    }

    // The counter and the ledger are written in one step, so a number that two have made is an increment that is lost.
    private void check() {
        List<String> ledger = server.ask(jedis -> jedis.lrange(LEDGER, 0, -1));
        Map<Side, Integer> done = new EnumMap<>(Side.class);
        long token = 0;
        for (int i = 0; i < ledger.size(); i++) {
            String[] words = ledger.get(i).split(" ", -1);
            assertThat(words[1]).as("entry %s: %s", i, ledger.get(i)).isEqualTo(Integer.toString(i + 1));
            Side side = Side.valueOf(words[0]);
            done.merge(side, 1, Integer::sum);
            if (side == Side.OURS) {
                assertThat(Long.parseLong(words[2])).isGreaterThan(token);
                token = Long.parseLong(words[2]);
            }
        }
        String counter = server.ask(jedis -> jedis.get(COUNTER));
        assertThat(counter).isEqualTo(Integer.toString(ledger.size()));
        System.out.println("Increments under one lock, with " + (RANDOM_KILLS + Side.values().length)
                + " processes killed: " + done);
        assertThat(done.get(Side.THEIRS)).isGreaterThan(LEAST);
        assertThat(done.get(Side.OURS)).isGreaterThan(LEAST);
    }

    /** The main class of each process. It ends after a line of input, or when its standard input is closed. */
    static final class Process {

        private static final int MOST_THOUGHT_MILLIS = 10;

        private static volatile boolean stops;
        private static volatile boolean stays;
        private static int rounds;

        private Process() {}

        public static void main(String[] arguments) {
            Thread input = new Thread(Process::readInput);
            input.setDaemon(true);
            input.start();
            Side side = Side.valueOf(arguments[0]);
            try (Jedis jedis = new Jedis("127.0.0.1", Integer.parseInt(arguments[2]))) {
                if (side == Side.THEIRS) {
                    theirs(arguments[1], jedis);
                } else {
                    ours(arguments[1], jedis);
                }
            }
            System.out.println("DONE");
        }

        private static void readInput() {
            try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    stays |= line.equals("stay");
                    stops |= line.equals("stop");
                }
            } catch (IOException closed) {
                // As if it had ended.
            }
            stops = true;
        }

        private static void theirs(String url, Jedis jedis) {
            RedissonClient redisson = WithRedisson.client(url, LEASE);
            RLock lock = redisson.getLock(LOCK);
            System.out.println("READY");
            while (!stops) {
                lock.lock();
                try {
                    increment(jedis, Side.THEIRS.name(), 0);
                } finally {
                    lock.unlock();
                }
                think();
            }
            redisson.shutdown(0, 1, TimeUnit.SECONDS);
        }

        private static void ours(String url, Jedis jedis) {
            LockOptions options = LockOptions.defaults().withLease(LEASE);
            try (Holdfast locks = Holdfast.connect(url + "?layout=redisson")) {
                DistributedLock lock = locks.lock(LOCK, options);
                System.out.println("READY");
                while (!stops) {
                    lock.lock();
                    try {
                        increment(jedis, Side.OURS.name(), lock.token());
                    } finally {
                        lock.unlock();
                    }
                    think();
                }
            }
        }

        private static void increment(Jedis jedis, String side, long token) {
            String read = jedis.get(COUNTER);
            if (stays) {
                System.out.println("INSIDE");
                LockSupport.parkNanos(PATIENCE.toNanos());
            }
            long next = read == null ? 1 : Long.parseLong(read) + 1;
            try (Transaction both = jedis.multi()) {
                both.set(COUNTER, Long.toString(next));
                both.rpush(LEDGER, side + " " + next + " " + token);
                both.exec();
            }
        }

        // Each time a bit longer, and then at once again, so that not always the same one wins.
        private static void think() {
            rounds++;
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(rounds % MOST_THOUGHT_MILLIS));
        }
    }
}
