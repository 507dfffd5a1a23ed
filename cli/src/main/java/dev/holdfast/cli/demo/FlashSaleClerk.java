package dev.holdfast.cli.demo;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One of the selling processes. It prints {@code ready}, waits for {@code go}, and prints {@code sold} or {@code
 * refused} with the microseconds that the customer waited for the lock, or {@code failed} with the reason.
 */
final class FlashSaleClerk {

    /** The environment variable that names the URL of the store. */
    static final String STORE = "HOLDFAST_STORE";

    /** Customers that one process serves at the same time. */
    private static final int TILLS = 4;

    private static final Duration LONGEST_WAIT = Duration.ofSeconds(60);

    private final FlashSaleShop shop;
    private final String name;
    private final AtomicInteger customers;
    private final @Nullable DistributedLock lock;

    private FlashSaleClerk(FlashSaleShop shop, String name, int customers, @Nullable DistributedLock lock) {
        this.shop = shop;
        this.name = name;
        this.customers = new AtomicInteger(customers);
        this.lock = lock;
    }

    /** Arguments: FOLDER NAME CUSTOMERS [LOCK]. With a lock, the variable {@value #STORE} has the URL of its store. */
    public static void main(String[] args) throws IOException, InterruptedException {
        FlashSaleShop shop = new FlashSaleShop(Path.of(args[0]));
        int customers = Integer.parseInt(args[2]);
        if (args.length == 3) {
            new FlashSaleClerk(shop, args[1], customers, null).serve();
            return;
        }
        try (Holdfast locks = Holdfast.connect(Objects.requireNonNull(System.getenv(STORE)))) {
            DistributedLock lock = locks.lock(args[3]);
            lock.state(); // the first round trip is slow and must not count as a customer's wait
            new FlashSaleClerk(shop, args[1], customers, lock).serve();
        } catch (RuntimeException failed) {
            say("failed " + failed.getMessage());
        }
    }

    private void serve() throws IOException, InterruptedException {
        say("ready");
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        if (!"go".equals(in.readLine())) {
            return;
        }
        Thread[] tills = new Thread[TILLS];
        for (int i = 0; i < tills.length; i++) {
            tills[i] = new Thread(this::serveOneAfterTheOther, "till-" + i);
            tills[i].start();
        }
        for (Thread till : tills) {
            till.join();
        }
    }

    private void serveOneAfterTheOther() {
        try {
            for (int left = customers.getAndDecrement(); left > 0; left = customers.getAndDecrement()) {
                serve(name + "-" + left);
            }
        } catch (IOException | InterruptedException | RuntimeException failed) {
            say("failed " + failed);
        }
    }

    private void serve(String customer) throws IOException, InterruptedException {
        long start = System.nanoTime();
        if (lock == null) {
            report(shop.sell(customer), 0);
            return;
        }
        try (Lease held = lock.acquire(LONGEST_WAIT)) {
            long waited = System.nanoTime() - start;
            report(held.isValid() && shop.sell(customer), waited);
        }
    }

    private static void report(boolean sold, long waitedNanos) {
        say((sold ? "sold " : "refused ") + waitedNanos / 1000);
    }

    private static void say(String line) {
        synchronized (System.out) {
            System.out.println(line.replace('\n', ' '));
        }
    }
}
