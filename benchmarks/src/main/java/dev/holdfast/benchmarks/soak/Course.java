package dev.holdfast.benchmarks.soak;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Writes a line of figures into a file every few seconds, from the beginning of a run to its end. Its columns are those of {@link
 * #header}; a figure that nobody counts is left out. Closed by the thread that made it.
 */
final class Course implements AutoCloseable {

    private static final double MEGABYTE = 1 << 20;

    private final List<SoakedStore> stores;
    private final AtomicLong operations;
    private final Path file;
    private final Duration every;
    private final Failures failures;
    private final long start = System.nanoTime();
    private final Thread thread = new Thread(this::repeat, "soak-course");
    private volatile boolean isOver;

    Course(List<SoakedStore> stores, AtomicLong operations, Path file, Duration every, Failures failures)
            throws IOException {
        this.stores = stores;
        this.operations = operations;
        this.file = file;
        this.every = every;
        this.failures = failures;
        Files.writeString(file, header(stores) + "\n");
        thread.setDaemon(true);
        thread.start();
    }

    private static String header(List<SoakedStore> stores) {
        StringBuilder header = new StringBuilder("seconds,operations,heapMb,heapAfterGcMb,threads,handles");
        for (SoakedStore store : stores) {
            for (String what : List.of("connections", "requests", "entries")) {
                header.append(',').append(store.name()).append('.').append(what);
            }
        }
        return header.toString();
    }

    /** Does something while no figures are taken, for which connections are opened and closed. */
    synchronized <T> T during(Supplier<T> work) {
        return work.get();
    }

    private synchronized void write() throws IOException {
        Files.writeString(file, line() + "\n", StandardOpenOption.APPEND);
    }

    private void repeat() {
        try {
            while (!isOver) {
                write();
                LockSupport.parkNanos(every.toNanos());
            }
        } catch (IOException failure) {
            failures.add("The file of figures", new UncheckedIOException(failure));
        } catch (RuntimeException failure) {
            failures.add("The figures of the servers", failure);
        }
    }

    private String line() {
        StringBuilder line = new StringBuilder();
        line.append((System.nanoTime() - start) / Duration.ofSeconds(1).toNanos());
        line.append(',').append(operations.get());
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        line.append(',').append(megabytes(heap.getUsed()));
        line.append(',').append(megabytes(afterCollection()));
        line.append(',').append(ManagementFactory.getThreadMXBean().getThreadCount());
        line.append(',').append(Sockets.handles().size());
        for (SoakedStore store : stores) {
            line.append(',').append(store.connections());
            line.append(',').append(orNothing(store.requests()));
            line.append(',').append(orNothing(store.entries()));
        }
        return line.toString();
    }

    /** What the last collection of each part of the heap has left. */
    private static long afterCollection() {
        return ManagementFactory.getMemoryPoolMXBeans().stream()
                .map(MemoryPoolMXBean::getCollectionUsage)
                .filter(usage -> usage != null)
                .mapToLong(MemoryUsage::getUsed)
                .sum();
    }

    private static String megabytes(long bytes) {
        return String.format(Locale.ROOT, "%.1f", bytes / MEGABYTE);
    }

    private static String orNothing(long count) {
        return count < 0 ? "" : Long.toString(count);
    }

    @Override
    public void close() throws InterruptedException {
        isOver = true;
        LockSupport.unpark(thread);
        thread.join();
    }
}
