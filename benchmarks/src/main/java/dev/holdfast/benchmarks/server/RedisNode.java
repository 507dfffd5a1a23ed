package dev.holdfast.benchmarks.server;

import dev.holdfast.testkit.process.Ports;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol;

/**
 * Redis with an append-only file that is synced every second, as its documentation advises. It reports how often
 * each command ran, but not how many of them were requests and how many a script's own; so requests are counted from
 * {@code MONITOR}, which slows the server down and is on in separate runs only.
 */
public final class RedisNode implements Server {

    private static final String MARK = "holdfast-bench-mark-";
    private static final int MOST_LAG_SECONDS = 30;

    private final int port = Ports.reserve();
    private final Daemon daemon;
    private final AtomicLong seen = new AtomicLong();
    private final AtomicInteger lastMark = new AtomicInteger();
    private @Nullable Jedis monitor;
    private @Nullable Jedis marker;
    private int marks;

    public RedisNode() {
        Path folder = Daemon.folder("");
        daemon = Daemon.start(
                folder,
                port,
                List.of(
                        Daemon.program("redis-server", "/usr/bin/redis-server", "/usr/local/bin/redis-server"),
                        "--bind",
                        "127.0.0.1",
                        "--port",
                        Integer.toString(port),
                        "--dir",
                        folder.toString(),
                        "--save",
                        "",
                        "--appendonly",
                        "yes",
                        "--appendfsync",
                        "everysec"));
        awaitLoaded();
    }

    private void awaitLoaded() {
        for (int i = 0; i < 200; i++) {
            try (Jedis jedis = new Jedis("127.0.0.1", port)) {
                jedis.ping();
                return;
            } catch (redis.clients.jedis.exceptions.JedisException loading) {
                LockSupport.parkNanos(20_000_000);
            }
        }
        throw new IllegalStateException("Redis does not answer on port " + port);
    }

    @Override
    public String url() {
        return "redis://127.0.0.1:" + port;
    }

    @Override
    public String target() {
        return url();
    }

    @Override
    public String describe() {
        return Daemon.firstLine("/usr/bin/redis-server", "--version").replaceAll(" sha=.*", "")
                + ", appendonly yes, appendfsync everysec";
    }

    @Override
    public boolean countsForFree() {
        return false;
    }

    @Override
    public long requests() {
        Jedis open = marker;
        return open == null ? -1 : seenByNow(open);
    }

    // MONITOR lags behind a busy server: what it prints before a mark was done before the mark was made.
    private long seenByNow(Jedis marker) {
        int mark = ++marks;
        marker.echo(MARK + mark);
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(MOST_LAG_SECONDS);
        while (lastMark.get() < mark) {
            if (System.nanoTime() - deadline > 0) {
                throw new IllegalStateException("MONITOR is more than " + MOST_LAG_SECONDS + " s late");
            }
            LockSupport.parkNanos(1_000_000);
        }
        return seen.get();
    }

    @Override
    public void startCounting() {
        Jedis open = new Jedis("127.0.0.1", port);
        open.echo(MARK + marks);
        marker = open;
        Jedis jedis = new Jedis("127.0.0.1", port, 0);
        Connection connection = jedis.getConnection();
        connection.sendCommand(Protocol.Command.MONITOR);
        connection.getStatusCodeReply();
        monitor = jedis;
        Thread reader = new Thread(() -> read(connection), "monitor");
        reader.setDaemon(true);
        reader.start();
    }

    // Lines like: 1700000000.123456 [0 127.0.0.1:4711] "SET" "k" "v". A script's own commands have [0 lua].
    private void read(Connection connection) {
        try {
            while (true) {
                String line = connection.getBulkReply();
                int mark = line.indexOf(MARK);
                if (mark >= 0) {
                    lastMark.set(Integer.parseInt(line.substring(mark + MARK.length(), line.lastIndexOf('"'))));
                } else if (!line.contains(" lua] ")) {
                    seen.incrementAndGet();
                }
            }
        } catch (RuntimeException closed) {
            // Closing the connection ends the counting.
        }
    }

    @Override
    public void stopCounting() {
        if (monitor != null && marker != null) {
            monitor.close();
            marker.close();
            monitor = null;
            marker = null;
        }
    }

    @Override
    public double cpuSeconds() {
        return daemon.cpuSeconds();
    }

    @Override
    public long memoryBytes() {
        try (Jedis jedis = new Jedis("127.0.0.1", port)) {
            return jedis.info("memory")
                    .lines()
                    .filter(line -> line.startsWith("used_memory:"))
                    .mapToLong(line -> Long.parseLong(line.substring(line.indexOf(':') + 1)))
                    .findFirst()
                    .orElse(-1);
        }
    }

    @Override
    public void close() {
        stopCounting();
        daemon.close();
    }
}
