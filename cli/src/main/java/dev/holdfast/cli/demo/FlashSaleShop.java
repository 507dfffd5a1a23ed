package dev.holdfast.cli.demo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * A shop in a folder: a file with the stock, and a file for each sale. It is careless on purpose: it reads, then
 * acts, as programs do that were written for one process.
 */
final class FlashSaleShop {

    private static final long LEAST_PAYMENT_NANOS = 1_000_000;
    private static final long MOST_PAYMENT_NANOS = 4_000_000;

    private final Path folder;
    private final Path stock;
    private final Path sales;

    FlashSaleShop(Path folder) {
        this.folder = folder;
        this.stock = folder.resolve("stock");
        this.sales = folder.resolve("sales");
    }

    void open(int pieces) throws IOException {
        Files.createDirectories(sales);
        Files.writeString(stock, Integer.toString(pieces));
    }

    /** Sells one piece if there is one. */
    boolean sell(String customer) throws IOException {
        int left = Integer.parseInt(Files.readString(stock));
        if (left == 0) {
            return false;
        }
        takePayment();
        // A complete file is renamed to the stock, so that a reader never finds half a number. Nothing else is
        // protected.
        Path draft = folder.resolve("stock-" + customer);
        Files.writeString(draft, Integer.toString(left - 1));
        Files.move(draft, stock, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        Files.createFile(sales.resolve(customer));
        return true;
    }

    /** How many pieces were really sold. */
    int sold() throws IOException {
        try (Stream<Path> files = Files.list(sales)) {
            return (int) files.count();
        }
    }

    private static void takePayment() {
        long until = System.nanoTime() + ThreadLocalRandom.current().nextLong(LEAST_PAYMENT_NANOS, MOST_PAYMENT_NANOS);
        while (System.nanoTime() - until < 0) {
            LockSupport.parkNanos(until - System.nanoTime());
        }
    }
}
