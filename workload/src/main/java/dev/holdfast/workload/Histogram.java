package dev.holdfast.workload;

import java.util.ArrayList;
import java.util.List;

/**
 * Durations in nanoseconds, counted in buckets that are at most 1/64 wide, so that those of many threads and processes can
 * be added up. Minimum, maximum and count are exact. Not thread-safe.
 */
public final class Histogram {

    /** Buckets for each power of two. */
    private static final int SUB = 64;

    private static final int SUB_BITS = 6;
    private static final int BUCKETS = (64 - SUB_BITS) * SUB;

    private final long[] counts = new long[BUCKETS];
    private long count;
    private long max;

    /** Adds a duration; a negative one counts as zero. */
    public void add(long nanos) {
        long value = Math.max(0, nanos);
        counts[bucket(value)]++;
        count++;
        max = Math.max(max, value);
    }

    /** Adds all of another one. */
    public void add(Histogram other) {
        for (int i = 0; i < BUCKETS; i++) {
            counts[i] += other.counts[i];
        }
        count += other.count;
        max = Math.max(max, other.max);
    }

    public long count() {
        return count;
    }

    public long max() {
        return max;
    }

    /**
     * The middle of the bucket that holds the quantile by nearest rank; never above the maximum.
     *
     * @param quantile 0 to 1
     * @return nanoseconds; NaN if there are none
     */
    public double at(double quantile) {
        if (count == 0) {
            return Double.NaN;
        }
        long rank = Math.max(1, (long) Math.ceil(quantile * count));
        long seen = 0;
        for (int i = 0; i < BUCKETS; i++) {
            seen += counts[i];
            if (seen >= rank) {
                return Math.min((double) max, (low(i) + low(i + 1) - 1) / 2.0);
            }
        }
        return max;
    }

    /** The filled buckets as pairs of index and count, and first the maximum; {@link #of} reads it. */
    public List<Long> toList() {
        List<Long> list = new ArrayList<>();
        list.add(max);
        for (int i = 0; i < BUCKETS; i++) {
            if (counts[i] > 0) {
                list.add((long) i);
                list.add(counts[i]);
            }
        }
        return list;
    }

    /** Reads what {@link #toList} wrote. */
    public static Histogram of(List<Long> list) {
        Histogram histogram = new Histogram();
        for (int i = 1; i + 1 < list.size(); i += 2) {
            long here = list.get(i + 1);
            histogram.counts[list.get(i).intValue()] = here;
            histogram.count += here;
        }
        histogram.max = list.isEmpty() ? 0 : list.get(0);
        return histogram;
    }

    // Values below 64 have a bucket each; above, the leading bit and the six bits behind it name the bucket.
    private static int bucket(long value) {
        if (value < SUB) {
            return (int) value;
        }
        int exponent = 63 - Long.numberOfLeadingZeros(value);
        int shift = exponent - SUB_BITS;
        return (shift + 1) * SUB + (int) ((value >>> shift) - SUB);
    }

    private static long low(int bucket) {
        if (bucket < SUB) {
            return bucket;
        }
        int shift = bucket / SUB - 1;
        return (long) (SUB + bucket % SUB) << shift;
    }
}
