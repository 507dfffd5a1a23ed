package dev.holdfast.redis;

import com.sun.management.OperatingSystemMXBean;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import redis.clients.jedis.Jedis;

/**
 * Prints what many held locks, many names and a crowd cost, on a server of its own; no test. {@code hold N}: N
 * locks that one client holds and renews every 2 s, before and after 20 s of lock and unlock on another name.
 * {@code names N}: N names used once, and what is left of them. {@code crowd N}: N clients that want one lock.
 */
final class RedisHoldFigures {

    private static final int SECONDS = 20;

    private RedisHoldFigures() {}

    public static void main(String[] arguments) throws InterruptedException {
        int number = Integer.parseInt(arguments[1]);
        try (RedisServer server = RedisServer.start();
                Jedis jedis = server.connect()) {
            switch (arguments[0]) {
                case "hold" -> hold(server, jedis, number);
                case "names" -> names(server, jedis, number);
                case "crowd" -> crowd(server, jedis, number);
                default -> throw new IllegalArgumentException(arguments[0]);
            }
        }
    }

    private static void hold(RedisServer server, Jedis jedis, int count) throws InterruptedException {
        try (Holdfast locks = Holdfast.connect(server.url())) {
            LockOptions options = LockOptions.defaults().withLease(Duration.ofSeconds(6));
            AtomicLong lost = new AtomicLong();
            long before = heap();
            List<Lease> leases = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                Lease lease = locks.lock("figures-" + i, options).acquire();
                lease.onLost(reason -> lost.incrementAndGet());
                leases.add(lease);
            }
            Thread.sleep(4_000);
            System.out.printf("%d held: %d bytes of heap a lock%n", count, (heap() - before) / count);
            renewals(jedis, count, lost, "held and renewed");
            long end = System.nanoTime() + Duration.ofSeconds(SECONDS).toNanos();
            long pairs = 0;
            while (System.nanoTime() - end < 0) {
                locks.lock("figures-other").lock();
                locks.lock("figures-other").unlock();
                pairs++;
            }
            System.out.printf("%d pairs on another name, %d lost%n", pairs, lost.get());
            renewals(jedis, count, lost, "after that");
            if (leases.stream().anyMatch(lease -> !lease.isValid())) {
                throw new IllegalStateException("a lock was lost");
            }
        }
    }

    private static void renewals(Jedis jedis, int count, AtomicLong lost, String what) throws InterruptedException {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        jedis.configResetStat();
        long cpu = system.getProcessCpuTime();
        Thread.sleep(SECONDS * 1_000L);
        double seconds = SECONDS;
        System.out.printf(
                "%d %s: %.1f requests/s, %.1f %% of a core, %d lost%n",
                count,
                what,
                RedisServer.calls(jedis).getOrDefault("evalsha", 0L) / seconds,
                (system.getProcessCpuTime() - cpu) / 1e7 / seconds,
                lost.get());
    }

    private static long heap() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    private static void names(RedisServer server, Jedis jedis, int count) throws InterruptedException {
        try (Holdfast locks = Holdfast.connect(server.url() + "?ticketTtl=200ms&keep=2s")) {
            for (int i = 0; i < count; i++) {
                locks.lock("figures-" + i, LockOptions.defaults().withLease(Duration.ofSeconds(1)))
                        .lock();
                locks.lock("figures-" + i).unlock();
            }
            System.out.printf("%d names used: %d keys%n", count, jedis.dbSize());
            Thread.sleep(8_000);
            System.out.printf("8 s later: %d keys%n", jedis.dbSize());
        }
    }

    private static void crowd(RedisServer server, Jedis jedis, int clients) throws InterruptedException {
        AtomicBoolean done = new AtomicBoolean();
        AtomicLong grants = new AtomicLong();
        List<Holdfast> all = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < clients; i++) {
            Holdfast locks = Holdfast.connect(server.url());
            all.add(locks);
            threads.add(new Thread(() -> {
                while (!done.get()) {
                    locks.lock("figures").lock();
                    grants.incrementAndGet();
                    locks.lock("figures").unlock();
                }
            }));
        }
        threads.forEach(Thread::start);
        Thread.sleep(5_000);
        jedis.configResetStat();
        long before = grants.get();
        Thread.sleep(SECONDS * 1_000L);
        long granted = grants.get() - before;
        long requests = RedisServer.calls(jedis).getOrDefault("evalsha", 0L);
        System.out.printf(
                "%d clients: %d grants, %.3f requests a grant%n", clients, granted, requests / (double) granted);
        done.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
        all.forEach(Holdfast::close);
    }
}
