package dev.holdfast.engine;

import dev.holdfast.testkit.process.ModelChecker;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The model {@code SharedCondition.tla} of waiting, signals, time limits and deaths, checked by TLC in every state that it can
 * reach. What the design does is right; each mistake that it avoids loses a signal, and the checker must find that.
 */
class SharedConditionModelTest {

    private static final String NOTHING_DIES = """
            SPECIFICATION Spec
            CONSTANTS
              None = None
              Consumers = {c1, c2, c3}
              Producers = {p1, p2}
              Impatient = {c1, c2, c3}
              Failing = {c1, c2, c3}
              Deaths = 0
              Losses = 0
              Flaws = {%s}
            SYMMETRY Same
            INVARIANTS NoSignalIsLost NothingIsLeft
            """;

    private static final String SOME_DIE = """
            SPECIFICATION FairSpec
            CONSTANTS
              None = None
              Consumers = {c1, c2}
              Producers = {p1}
              Impatient = {c1}
              Failing = {c1, c2}
              Deaths = 1
              Losses = 1
              Flaws = {%s}
            INVARIANTS NothingIsLeft
            PROPERTIES Served
            """;

    @TempDir
    Path folder;

    @Test
    void noSignalIsLost() {
        checker().proves(NOTHING_DIES.formatted("\"endless\""));
        checker().proves(NOTHING_DIES.formatted(""));
    }

    @ParameterizedTest
    @ValueSource(strings = {"unlock first", "counts", "eats", "keeps"})
    void eachMistakeLosesASignal(String flaw) {
        checker().findsViolationOf("NoSignalIsLost", NOTHING_DIES.formatted("\"endless\", \"" + flaw + "\""));
    }

    /** Also if the thread that was signalled dies, and if a producer loses the lock between its item and its signal. */
    @Test
    void anItemIsTakenWhoeverDies() {
        checker().proves(SOME_DIE.formatted(""));
    }

    @Test
    void withoutABoundADeathLosesASignalForGood() {
        checker().findsViolationInTime(SOME_DIE.formatted("\"endless\""));
    }

    private ModelChecker checker() {
        return new ModelChecker(SharedConditionModelTest.class, "SharedCondition", folder);
    }
}
