package dev.holdfast.jdbc;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.WakeListener;
import dev.holdfast.testkit.process.ChildJvm;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/**
 * Prints what a store costs; no test. {@code StoreFigures URL pair}: acquire and release of a free lock. {@code URL renew
 * N}: one batch of N. {@code URL wake N WAIT_MILLIS}: from the release in this process to the grant in another, which has
 * waited for that long. {@code URL idle SECONDS}: processor time while one claim waits.
 */
final class StoreFigures {

    private static final LockName NAME = new LockName("figures");
    private static final Claimant ME = new Claimant("me", Duration.ofMinutes(1));

    private StoreFigures() {}

    public static void main(String[] arguments) throws Exception {
        String url = arguments[0];
        try (LockStore store = open(url)) {
            switch (arguments[1]) {
                case "pair" -> pair(store);
                case "renew" -> renew(store, Integer.parseInt(arguments[2]));
                case "wake" -> wake(store, url, Integer.parseInt(arguments[2]), Integer.parseInt(arguments[3]));
                case "idle" -> idle(store, Integer.parseInt(arguments[2]));
                case "waiter" -> waitOnCommand(store);
                default -> throw new IllegalArgumentException(arguments[1]);
            }
        }
    }

    private static void pair(LockStore store) {
        for (int round = 0; round < 6; round++) {
            long[] nanos = new long[20_000];
            for (int i = 0; i < nanos.length; i++) {
                long start = System.nanoTime();
                store.release(acquire(store, NAME)).toCompletableFuture().join();
                nanos[i] = System.nanoTime() - start;
            }
            print("acquire + release", nanos);
        }
    }

    private static void renew(LockStore store, int count) {
        List<Claim> claims = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            claims.add(acquire(store, new LockName("figures-" + i)));
        }
        for (int round = 0; round < 3; round++) {
            long[] nanos = new long[50];
            for (int i = 0; i < nanos.length; i++) {
                long start = System.nanoTime();
                List<Renewed> answers =
                        store.renew(claims).toCompletableFuture().join();
                nanos[i] = System.nanoTime() - start;
                if (!answers.stream().allMatch(Granted.class::isInstance)) {
                    throw new IllegalStateException("not renewed: " + Set.copyOf(answers));
                }
            }
            print("renewal of " + count, nanos);
        }
        claims.forEach(claim -> store.release(claim).toCompletableFuture().join());
    }

    private static void wake(LockStore store, String url, int times, int waitMillis) throws InterruptedException {
        long[] nanos = new long[times];
        Random random = new Random(1);
        try (ChildJvm waiter = ChildJvm.start(StoreFigures.class, url, "waiter")) {
            for (int i = -20; i < times; i++) {
                Claim claim = acquire(store, NAME);
                waiter.send("wait");
                waiter.expect("waiting");
                Thread.sleep(waitMillis);
                LockSupport.parkNanos(random.nextInt(10_000_000));
                long start = System.nanoTime();
                store.release(claim).toCompletableFuture().join();
                long end = Long.parseLong(waiter.expect("granted"));
                if (i >= 0) {
                    nanos[i] = end - start;
                }
                waiter.expect("released");
            }
        }
        print("wake-up after " + waitMillis + " ms", nanos);
    }

    private static void waitOnCommand(LockStore store) throws java.io.IOException {
        while (System.in.read() >= 0) {
            while (System.in.read() != '\n') {
                // The order is always the same.
            }
            Claim claim = ME.mutex(NAME);
            WakeListener listener = new WakeListener();
            store.enqueue(claim, listener);
            System.out.println("waiting");
            long grantedAt = listener.awaitGrant(
                    () -> store.renew(List.of(claim)).toCompletableFuture().join());
            System.out.println("granted " + grantedAt);
            store.release(claim).toCompletableFuture().join();
            System.out.println("released");
        }
    }

    private static void idle(LockStore store, int seconds) throws InterruptedException {
        acquire(store, NAME);
        Claim waiter = ME.mutex(NAME);
        store.enqueue(waiter, new RecordingListener());
        for (int round = 0; round < 3; round++) {
            Duration before = processorTime();
            for (int i = 0; i < seconds; i++) {
                Thread.sleep(1_000);
                if (i % 2 == 0) {
                    store.renew(List.of(waiter)).toCompletableFuture().join();
                }
            }
            double share = processorTime().minus(before).toNanos() / (seconds * 1e9);
            System.out.printf("waiting for %d s: %.2f %% of a core%n", seconds, 100 * share);
        }
    }

    private static Duration processorTime() {
        return ProcessHandle.current().info().totalCpuDuration().orElseThrow();
    }

    private static Claim acquire(LockStore store, LockName name) {
        Claim claim = ME.mutex(name);
        while (!(store.tryAcquire(claim).toCompletableFuture().join() instanceof Granted)) {
            LockSupport.parkNanos(100_000);
        }
        return claim;
    }

    private static void print(String what, long[] nanos) {
        Arrays.sort(nanos);
        System.out.printf(
                "%s: mean %.1f, p50 %.1f, p99 %.1f, max %.1f us%n",
                what,
                Arrays.stream(nanos).average().orElse(0) / 1e3,
                nanos[nanos.length / 2] / 1e3,
                nanos[nanos.length * 99 / 100] / 1e3,
                nanos[nanos.length - 1] / 1e3);
    }

    private static LockStore open(String url) {
        return ServiceLoader.load(LockStoreProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.accepts(url))
                .findFirst()
                .orElseThrow()
                .open(url, MonotonicClock.SYSTEM);
    }
}
