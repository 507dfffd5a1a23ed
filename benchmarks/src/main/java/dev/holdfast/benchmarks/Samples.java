package dev.holdfast.benchmarks;

import java.util.Arrays;

/** Durations in nanoseconds, and their quantiles. Not thread-safe. */
final class Samples {

    private static final double NANOS_PER_MILLI = 1e6;

    private long[] values = new long[256];
    private int size;

    void add(long nanos) {
        if (size == values.length) {
            values = Arrays.copyOf(values, size * 2);
        }
        values[size++] = nanos;
    }

    int size() {
        return size;
    }

    double millisAt(double quantile) {
        if (size == 0) {
            return Double.NaN;
        }
        long[] sorted = Arrays.copyOf(values, size);
        Arrays.sort(sorted);
        return sorted[Math.min(size - 1, (int) Math.floor(quantile * size))] / NANOS_PER_MILLI;
    }

    double maxMillis() {
        return millisAt(1);
    }
}
