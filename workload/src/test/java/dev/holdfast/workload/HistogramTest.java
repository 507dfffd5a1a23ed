package dev.holdfast.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;

/** The quantiles that all figures rest on. */
class HistogramTest {

    @Test
    void quantilesAreThoseOfTheSortedValues() {
        long seed = System.nanoTime();
        System.out.println("HistogramTest: seed " + seed);
        SplittableRandom random = new SplittableRandom(seed);
        for (int run = 0; run < 50; run++) {
            Histogram histogram = new Histogram();
            long[] values = new long[1 + random.nextInt(2_000)];
            for (int i = 0; i < values.length; i++) {
                values[i] = random.nextLong(1L << (1 + random.nextInt(50)));
                histogram.add(values[i]);
            }
            Arrays.sort(values);
            for (double quantile : new double[] {0, 0.5, 0.9, 0.99, 1}) {
                long exact = values[Math.max(0, (int) Math.ceil(quantile * values.length) - 1)];
                assertThat(histogram.at(quantile))
                        .as("quantile %s of %s values", quantile, values.length)
                        .isCloseTo(
                                exact, exact < 64 ? Percentage.withPercentage(0.001) : Percentage.withPercentage(1.6));
            }
            assertThat(histogram.max()).isEqualTo(values[values.length - 1]);
            assertThat(histogram.count()).isEqualTo(values.length);
        }
    }

    @Test
    void whatIsWrittenAndAddedUpIsTheSame() {
        Histogram one = new Histogram();
        Histogram two = new Histogram();
        Histogram both = new Histogram();
        for (long value = 1; value < 1L << 40; value *= 3) {
            (value % 2 == 0 ? one : two).add(value);
            both.add(value);
        }
        two.add(7);
        both.add(7);
        Histogram sum = Histogram.of(one.toList());
        sum.add(Histogram.of(
                Fields.parse(new Fields().with("h", two.toList()).toString()).list("h")));
        assertThat(sum.toList()).isEqualTo(both.toList());
        assertThat(sum.at(0.5)).isEqualTo(both.at(0.5), within(0.0));
        assertThat(new Histogram().at(0.5)).isNaN();
    }
}
