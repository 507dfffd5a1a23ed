package dev.holdfast.jdbc;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Another process that runs the commands on its input, one a line: {@code acquire NAME MILLIS}, {@code enqueue NAME
 * MILLIS}, {@code renew}, {@code release}, and {@code count NAME FILE TIMES}, which adds to the number in a file
 * under the lock. It speaks of one claim at a time.
 */
final class LockingProcess {

    private final LockStore store;
    private final String client = "p" + ProcessHandle.current().pid();
    private Claim claim;
    private long sequence;

    private LockingProcess(LockStore store) {
        this.store = store;
    }

    public static void main(String[] arguments) throws IOException {
        try (LockStore store = open(arguments[0]);
                BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            LockingProcess process = new LockingProcess(store);
            say("ready");
            for (String order = orders.readLine(); order != null; order = orders.readLine()) {
                process.obey(order.split(" "));
            }
        }
    }

    private static LockStore open(String url) {
        return url.startsWith("sqlite:")
                ? new SqliteLockStoreProvider().open(url, MonotonicClock.SYSTEM)
                : new JdbcLockStoreProvider().open(url, MonotonicClock.SYSTEM);
    }

    private void obey(String[] order) throws IOException {
        switch (order[0]) {
            case "acquire" -> {
                claim = claim(order[1], Long.parseLong(order[2]));
                Attempt attempt = store.tryAcquire(claim).toCompletableFuture().join();
                say(attempt instanceof Granted granted ? "granted " + granted.counter() : "busy");
            }
            case "enqueue" -> {
                claim = claim(order[1], Long.parseLong(order[2]));
                store.enqueue(claim, new Speaker());
            }
            case "renew" -> {
                Renewed renewed =
                        store.renew(List.of(claim)).toCompletableFuture().join().get(0);
                say("renewed " + renewed.getClass().getSimpleName());
            }
            case "release" ->
                say("released "
                        + store.release(claim).toCompletableFuture().join().wasOwner());
            case "count" -> count(order[1], Path.of(order[2]), Integer.parseInt(order[3]));
            default -> throw new IllegalArgumentException(order[0]);
        }
    }

    // Without the lock, two processes would read the same number and one addition would be lost.
    private void count(String name, Path file, int times) throws IOException {
        for (int done = 0; done < times; ) {
            claim = claim(name, 30_000);
            if (store.tryAcquire(claim).toCompletableFuture().join() instanceof Granted) {
                int number = Integer.parseInt(Files.readString(file));
                Files.writeString(file, Integer.toString(number + 1));
                store.release(claim).toCompletableFuture().join();
                done++;
            }
        }
        say("counted");
    }

    private Claim claim(String name, long leaseMillis) {
        ClaimId id = new ClaimId(client, ++sequence);
        return new Claim(new LockName(name), id, 1, 1, Duration.ofMillis(leaseMillis), OwnerInfo.of(client));
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static final class Speaker implements ClaimListener {

        @Override
        public void waiting(int position, Duration retryAfter) {
            say("waiting " + position);
        }

        @Override
        public void granted(Granted granted) {
            say("granted " + granted.counter());
        }

        @Override
        public void ended(Renewed.Reason reason) {
            say("ended " + reason);
        }

        @Override
        public void failed(StoreException cause) {
            say("failed " + cause.getMessage());
        }
    }
}
