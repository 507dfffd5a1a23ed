package dev.holdfast.workload;

import java.util.Arrays;
import java.util.SplittableRandom;

/** Numbers from 0 up, the k-th drawn with a probability proportional to 1 / (k + 1). */
final class Zipf {

    private final double[] upTo;

    Zipf(int size) {
        upTo = new double[size];
        double sum = 0;
        for (int i = 0; i < size; i++) {
            sum += 1.0 / (i + 1);
            upTo[i] = sum;
        }
    }

    int size() {
        return upTo.length;
    }

    int draw(SplittableRandom random) {
        int found = Arrays.binarySearch(upTo, random.nextDouble() * upTo[upTo.length - 1]);
        return Math.min(upTo.length - 1, found < 0 ? -found - 1 : found);
    }
}
