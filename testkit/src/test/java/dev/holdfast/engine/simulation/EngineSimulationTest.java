package dev.holdfast.engine.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.testkit.Seeds;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@link EngineSimulation}: many seeds on the engine as it is, and seeds in which a planted mistake must be found. */
@Timeout(3_600)
class EngineSimulationTest {

    /** The system property that sets how many steps there are in all, or for the seed. */
    private static final String STEPS = "holdfast.simulation.steps";

    /** The system property that repeats one run. */
    private static final String SEED = "holdfast.simulation.seed";

    private static final int STEPS_IN_ALL = 2_500_000;
    private static final int STEPS_OF_A_RUN = 10_000;

    private static final int SEEDS_OF_MISTAKES = 100;

    private static final long FIRST = Seeds.of("simulation of the engine");

    @Test
    void holdersExcludeEachOtherAndEveryWaitEnds() {
        Long seed = Long.getLong(SEED);
        if (seed != null) {
            System.out.println(EngineSimulation.run(seed, Integer.getInteger(STEPS, STEPS_OF_A_RUN), Plant.NONE));
            return;
        }
        long steps = Long.getLong(STEPS, STEPS_IN_ALL);
        long made = 0;
        long runs = 0;
        long grants = 0;
        long terms = 0;
        long losses = 0;
        long givenUp = 0;
        long failures = 0;
        long seconds = 0;
        while (made < steps) {
            EngineSimulation.Report report = EngineSimulation.run(FIRST + made, STEPS_OF_A_RUN, Plant.NONE);
            runs++;
            made += report.steps();
            grants += report.grants();
            terms += report.terms();
            losses += report.losses();
            givenUp += report.givenUp();
            failures += report.failures();
            seconds += report.trueMillis() / 1_000;
        }
        System.out.println("Simulation of the engine: " + made + " steps in " + runs
                + " runs of a seed each, first seed " + FIRST + ": " + grants + " grants, " + terms
                + " terms of leaders, " + losses
                + " losses found at the release, "
                + givenUp + " waits given up, " + failures + " failed, " + seconds + " s of simulated time");
        // However the length of a run or the property is changed, so many are made by default.
        assertThat(made).as("steps").isGreaterThanOrEqualTo(Long.getLong(STEPS, 2_500_000));
        assertThat(runs).as("seeds").isGreaterThanOrEqualTo(steps / STEPS_OF_A_RUN);
        // A run in which nothing happens proves nothing.
        assertThat(grants).as("grants").isGreaterThan(steps / 100);
        assertThat(terms).as("terms of leaders").isGreaterThan(steps / 1_000);
        assertThat(losses).as("losses").isGreaterThan(steps / 10_000);
        assertThat(givenUp).as("waits given up").isGreaterThan(steps / 1_000);
        assertThat(failures).as("waits that failed or timed out").isGreaterThan(steps / 1_000);
    }

    @Test
    void seedRepeatsARunExactly() {
        EngineSimulation.Report first = EngineSimulation.run(FIRST, STEPS_OF_A_RUN, Plant.NONE);
        assertThat(EngineSimulation.run(FIRST, STEPS_OF_A_RUN, Plant.NONE)).isEqualTo(first);
        assertThat(EngineSimulation.run(FIRST + 1, STEPS_OF_A_RUN, Plant.NONE).print())
                .isNotEqualTo(first.print());
    }

    /** Fixed seeds, so that a mistake is found always or never: slow clocks show in less than a third of all runs. */
    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void plantedMistakeIsFound(Plant plant) {
        assertThatThrownBy(() -> {
                    for (long seed = 1; seed <= SEEDS_OF_MISTAKES; seed++) {
                        EngineSimulation.run(seed, STEPS_OF_A_RUN, plant);
                    }
                })
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining(SEED)
                .hasMessageNotContaining("a second run ended otherwise")
                .satisfies(found -> System.out.println(
                        plant + ": " + found.getMessage().lines().findFirst().orElse("")));
    }
}
