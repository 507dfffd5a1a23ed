package dev.holdfast.engine.simulation;

import java.util.List;
import java.util.SplittableRandom;

/** The one source of chance in a world. */
final class Chance {

    private final SplittableRandom random;

    Chance(long seed) {
        this.random = new SplittableRandom(seed);
    }

    int below(int bound) {
        return random.nextInt(bound);
    }

    long below(long bound) {
        return random.nextLong(bound);
    }

    boolean once(int inSoMany) {
        return random.nextInt(inSoMany) == 0;
    }

    boolean ofAThousand(int parts) {
        return parts > 0 && random.nextInt(1_000) < parts;
    }

    long any() {
        return random.nextLong();
    }

    /** A time up to a limit, of which short ones are much more frequent than long ones. */
    long mostlyShort(long most) {
        return random.nextLong((most >> random.nextInt(8)) + 1);
    }

    <T> T of(List<T> choices) {
        return choices.get(random.nextInt(choices.size()));
    }
}
