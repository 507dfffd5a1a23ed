package dev.holdfast.engine;

import dev.holdfast.testkit.process.ModelChecker;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The model {@code TicketQueue.tla} of a queue of leases whose waiters sleep or die, checked by TLC in every state that it can
 * reach. Each mistake that the design avoids must be found.
 */
class TicketQueueModelTest {

    /** Messages are late, so that what is believed may be wrong. */
    private static final String LATE = """
            SPECIFICATION Spec
            SYMMETRY Same
            INVARIANTS %s
            CONSTANTS
              None = None
              Claims = {c1, c2}
              Flaws = {%s}
              Lease = 2
              Ticket = 2
              End = 3
              Sleeps = 0
              Slow = TRUE
              Bound = 0
            """;

    /** Messages take no time, so that the sleepers alone keep others waiting. */
    private static final String ASLEEP = """
            SPECIFICATION Spec
            SYMMETRY Same
            INVARIANTS %s
            CONSTANTS
              None = None
              Claims = {c1, c2, c3}
              Flaws = {%s}
              Lease = 3
              Ticket = 2
              End = 7
              Sleeps = 2
              Slow = FALSE
              Bound = %d
            """;

    /**
     * A lease, which a holder may just have renewed when he falls asleep. It is as long as two tickets but for a moment here: that of
     * a waiter that is handed the lock in its sleep, and one that is handed it just before its own ticket ends.
     */
    private static final int BOUND = 3;

    @TempDir
    Path folder;

    @Test
    void twoNeverHoldHoweverLateMessagesAre() {
        checker().proves(LATE.formatted("OneHolder InOrder", ""));
    }

    @Test
    void sleepersDelayTheOthersByNoMoreThanOneLease() {
        checker().proves(ASLEEP.formatted("OneHolder InOrder Prompt", "", BOUND));
    }

    @ParameterizedTest
    @ValueSource(strings = {"counts from push", "counts from answer"})
    void eachMistakeThatMakesTwoHoldersIsFound(String flaw) {
        checker().findsViolationOf("OneHolder", LATE.formatted("OneHolder", '"' + flaw + '"'));
    }

    @ParameterizedTest
    @CsvSource({"handed for the lease, Prompt", "endless tickets, Prompt", "to the end, InOrder"})
    void eachMistakeInTheQueueIsFound(String flaw, String invariant) {
        checker().findsViolationOf(invariant, ASLEEP.formatted(invariant, '"' + flaw + '"', BOUND));
    }

    /** So the bound is the real one. */
    @Test
    void aSmallerBoundIsTooSmall() {
        checker().findsViolationOf("Prompt", ASLEEP.formatted("Prompt", "", BOUND - 1));
    }

    private ModelChecker checker() {
        return new ModelChecker(TicketQueueModelTest.class, "TicketQueue", folder);
    }
}
