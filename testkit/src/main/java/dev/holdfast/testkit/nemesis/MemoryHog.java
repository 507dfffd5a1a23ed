package dev.holdfast.testkit.nemesis;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Takes all memory of this JVM for a time, so that any thread that wants some gets an {@link OutOfMemoryError}. */
final class MemoryHog extends Thread {

    /** What an order begins with; how long follows, in milliseconds. */
    static final String ORDER = "MEMORY ";

    private static final int LARGEST = 1 << 20;
    private static final int SMALLEST = 1 << 6;
    private static final int MOST_BLOCKS = 1 << 16;
    private static final long LOOK_NANOS = 1_000_000;

    private final long nanos;
    private final List<byte[]> taken = new ArrayList<>(MOST_BLOCKS);

    MemoryHog(String order) {
        super("memory hog");
        nanos = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(order.substring(ORDER.length())));
        setDaemon(true);
    }

    @Override
    public void run() {
        long begun = System.nanoTime();
        while (System.nanoTime() - begun < nanos) {
            for (int size = LARGEST; size >= SMALLEST; size /= 2) {
                take(size);
            }
            // What others give back meanwhile is taken, too.
            LockSupport.parkNanos(LOOK_NANOS);
        }
        taken.clear();
    }

    private void take(int size) {
        try {
            while (taken.size() < MOST_BLOCKS) {
                taken.add(new byte[size]);
            }
        } catch (OutOfMemoryError all) {
            // That is what is wanted.
            Thread.onSpinWait();
        }
    }
}
