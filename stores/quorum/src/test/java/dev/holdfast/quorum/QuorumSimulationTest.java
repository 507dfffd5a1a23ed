package dev.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.quorum.SimulatedNetwork.Defect;
import dev.holdfast.testkit.Seeds;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Many short histories of several clients on a simulated network that delays, reorders and loses everything. The system
 * property {@value #RUNS} sets their number, {@value #SEED} repeats one.
 */
@Timeout(3_600)
class QuorumSimulationTest {

    private static final String RUNS = "holdfast.quorum.runs";
    private static final String SEED = "holdfast.quorum.seed";

    private static final int SEEDS_OF_DEFECTS = 100;

    /** What all runs together must have met, or they prove nothing. */
    private static final String[] EVENTS = {
        "grant",
        "busy",
        "unknown",
        "give up",
        "renewal",
        "gone",
        "expired",
        "downgrade",
        "break",
        "died",
        "broken at a majority"
    };

    private final Map<String, Integer> met = new TreeMap<>();

    @Test
    void lawsHoldWhateverIsDelayedReorderedOrLost() {
        Long one = Long.getLong(SEED);
        if (one != null) {
            run(one, Defect.NONE);
            return;
        }
        int runs = Integer.getInteger(RUNS, 200);
        Random seeds = new Random(Seeds.of("quorum simulation"));
        for (int i = 0; i < runs; i++) {
            run(seeds.nextLong(), Defect.NONE);
        }
        System.out.println(runs + " simulated runs of a quorum met " + met);
        assertThat(EVENTS)
                .allSatisfy(event -> assertThat(met.getOrDefault(event, 0))
                        .as("%s in %s", event, met)
                        .isPositive());
    }

    private void run(long seed, Defect defect) {
        try {
            new QuorumSimulation(seed, defect, met).run();
        } catch (RuntimeException | AssertionError failure) {
            throw new AssertionError("Repeat with -D" + SEED + "=" + seed + ": " + failure.getMessage(), failure);
        }
    }

    @Test
    void sameSeedGivesTheSameRun() {
        long seed = Seeds.of("repeated quorum simulation");
        run(seed, Defect.NONE);
        Map<String, Integer> first = Map.copyOf(met);
        met.clear();
        run(seed, Defect.NONE);
        assertThat(met).as("seed %s", seed).isEqualTo(first);
    }

    /** Fixed seeds, so that a defect is found always or never. */
    @ParameterizedTest
    @CsvSource({
        "IDS_ARE_REUSED, more is held",
        "NO_WRITE_BACK, but before it",
        "AGE_IS_IGNORED, more is held",
        "NO_TOMBSTONES, still keeps"
    })
    void defectIsFound(Defect defect, String by) {
        assertThatThrownBy(() -> {
                    for (long seed = 1; seed <= SEEDS_OF_DEFECTS; seed++) {
                        run(seed, defect);
                    }
                })
                .hasMessageContaining(by);
    }
}
