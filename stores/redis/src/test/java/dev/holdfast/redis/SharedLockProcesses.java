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
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Transaction;

/**
 * Processes with another program and processes with Holdfast increment one counter under one lock, each by reading it and
 * writing it in two steps. Some may be killed, anywhere and between the two steps, and replaced. No increment may be lost.
 */
abstract class SharedLockProcesses extends StoreTest {

    private static final Duration RUN = Duration.ofSeconds(20);
    /**
     * The lock of a process that is killed is free after this time. It is longer than a busy machine lets one of so many processes
     * wait: one that cannot renew in time guards no increment any more, and ends.
     */
    static final Duration LEASE = Duration.ofSeconds(8);

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int LEAST = 50;
    private static final long BETWEEN_LOOKS_MILLIS = 100;
    static final String LOCK = "counted";
    private static final String COUNTER = "counter";
    private static final String LEDGER = "ledger";
    private static final List<String> SMALL = List.of("-Xmx96m");

    /** Whose lock a process uses. */
    enum Side {
        THEIRS,
        OURS
    }

    private record Counting(Side side, ChildJvm process) {}

    private final int processesOfEach;
    private final int randomKills;
    private final Class<?> program;
    private final Random random = new Random(Seeds.of(getClass().getSimpleName()));
    private final RedisServer server = closing(RedisServer.start());
    private final List<Counting> running = new ArrayList<>();

    /**
     * @param randomKills how many processes are killed; if any, two more are killed while they hold the lock
     * @param program the main class of the processes, which calls {@link #main}
     */
    SharedLockProcesses(int processesOfEach, int randomKills, Class<?> program) {
        this.processesOfEach = processesOfEach;
        this.randomKills = randomKills;
        this.program = program;
    }

    /** The lock of the other program. */
    interface TheirLock extends AutoCloseable {

        void lock();

        void unlock();

        @Override
        void close();
    }

    @Test
    final void noIncrementIsLost() {
        for (int i = 0; i < processesOfEach; i++) {
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
        awaitIncrementsOfBoth();
        running.forEach(one -> one.process().send("stop"));
        running.forEach(one -> one.process().expect("DONE", PATIENCE));
        check();
    }

    // Each kill of a holder stops all of them for a lease, so how many there are after a while is up to chance and the
    // machine.
    private void awaitIncrementsOfBoth() {
        long giveUp = System.nanoTime() + PATIENCE.toNanos();
        while (increments(Side.THEIRS) <= LEAST || increments(Side.OURS) <= LEAST) {
            assertThat(System.nanoTime())
                    .as("increments: %d of theirs, %d of ours", increments(Side.THEIRS), increments(Side.OURS))
                    .isLessThan(giveUp);
            pause(BETWEEN_LOOKS_MILLIS);
        }
    }

    private long increments(Side side) {
        return server.ask(jedis -> jedis.lrange(LEDGER, 0, -1)).stream()
                .filter(entry -> entry.startsWith(side.name()))
                .count();
    }

    // Two are killed while they hold the lock, at the worst moment, one of each side; the others wherever they are.
    private List<Runnable> kills() {
        List<Runnable> kills = new ArrayList<>();
        if (randomKills == 0) {
            return kills;
        }
        for (Side side : Side.values()) {
            kills.add(() -> {
                Counting victim =
                        any(running.stream().filter(one -> one.side() == side).toList());
                victim.process().send("stay");
                victim.process().expect("INSIDE", PATIENCE);
                replace(victim);
            });
        }
        for (int i = 0; i < randomKills; i++) {
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
                closing(ChildJvm.startSmall(
                        SMALL, program, side.name(), server.url(), Integer.toString(server.port()))));
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
        System.out.println("Increments under one lock, with " + randomKills + " processes killed at random: " + done);
        assertThat(done.get(Side.THEIRS)).isGreaterThan(LEAST);
        assertThat(done.get(Side.OURS)).isGreaterThan(LEAST);
    }

    /**
     * What a process does. It ends after a line of input, or when its standard input is closed.
     *
     * @param arguments those of the process
     * @param theirs opens the lock of the other program at a URL
     * @param options what our URL has behind the server's
     */
    static void main(String[] arguments, Function<String, TheirLock> theirs, String options) {
        Thread input = new Thread(SharedLockProcesses::readInput);
        input.setDaemon(true);
        input.start();
        Side side = Side.valueOf(arguments[0]);
        try (Jedis jedis = new Jedis("127.0.0.1", Integer.parseInt(arguments[2]))) {
            if (side == Side.THEIRS) {
                theirs(theirs.apply(arguments[1]), jedis);
            } else {
                ours(arguments[1] + options, jedis);
            }
        }
        System.out.println("DONE");
    }

    private static final int MOST_THOUGHT_MILLIS = 10;

    private static volatile boolean stops;
    private static volatile boolean stays;
    private static int rounds;

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

    private static void theirs(TheirLock opened, Jedis jedis) {
        try (TheirLock lock = opened) {
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
        }
    }

    private static void ours(String url, Jedis jedis) {
        LockOptions options = LockOptions.defaults().withLease(LEASE);
        try (Holdfast locks = Holdfast.connect(url)) {
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
