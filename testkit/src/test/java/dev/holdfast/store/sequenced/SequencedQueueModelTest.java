package dev.holdfast.store.sequenced;

import dev.holdfast.testkit.process.ModelChecker;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The model {@code SequencedQueue.tla} of what the stores on ZooKeeper and etcd have in common, checked by TLC in every state
 * that it can reach. What the design does is right; each mistake that it avoids leads to a state that is wrong, and the
 * checker must find that.
 *
 * <p>The queue and the sessions are looked at apart: in the first two configurations time stands still, and in the third
 * nobody releases or breaks anything.
 */
class SequencedQueueModelTest {

    private static final String ALL = "OneHolder TokensRise NothingIsLeft NobodyIsForgotten";

    private static final String COMMON = """
            SPECIFICATION Spec
            SYMMETRY Same
            INVARIANTS %s
            CONSTANTS
              None = None
              Flaws = {%s}
              Life = 2
            """;

    /** Three claims wait for each other. */
    private static final String QUEUE = """
              Writers = {w1, w2}
              Readers = {r1}
              Mortal = {}
              Sends = 1
              Breaks = 1
              Downgrades = 1
              Releases = 3
              Margin = 0
              Lag = 0
              End = 0
              Cut = FALSE
            """;

    /** Answers are lost, and requests come late. */
    private static final String LOST_ANSWERS = """
              Writers = {w1}
              Readers = {r1}
              Mortal = {}
              Sends = 2
              Breaks = 1
              Downgrades = 1
              Releases = 2
              Margin = 0
              Lag = 0
              End = 0
              Cut = FALSE
            """;

    /**
     * A session ends, and a leader is cut off. The other claim is believed whenever it was granted, so that this one is wrong
     * from the first moment on in which it is believed, too.
     */
    private static final String SESSIONS = """
              Writers = {w1, w2}
              Readers = {}
              Mortal = {w1}
              Sends = 1
              Breaks = 0
              Downgrades = 0
              Releases = 0
              Margin = %d
              Lag = 1
              End = %d
              Cut = TRUE
            """;

    @TempDir
    Path folder;

    @Test
    void whoReleasesBreaksOrShrinksLeavesOneHolderAndForgetsNobody() {
        checker().proves(COMMON.formatted(ALL, "") + QUEUE);
    }

    @Test
    void anAnswerThatIsLostOrLateLeavesNothing() {
        checker().proves(COMMON.formatted(ALL, "") + LOST_ANSWERS);
    }

    @Test
    void aLeaderThatIsCutOffMakesNoSecondHolder() {
        checker().proves(COMMON.formatted(ALL, "") + SESSIONS.formatted(1, 3));
    }

    @ParameterizedTest
    @CsvSource({
        "blind, OneHolder",
        "late watch, NobodyIsForgotten",
        "two steps, OneHolder",
        "renumbered, TokensRise",
    })
    void eachMistakeInTheQueueIsFound(String flaw, String invariant) {
        finds(invariant, flaw, QUEUE);
    }

    @ParameterizedTest
    @CsvSource({"no sweep", "no tombstone"})
    void eachMistakeThatLeavesAnEntryIsFound(String flaw) {
        finds("NothingIsLeft", flaw, LOST_ANSWERS);
    }

    /** The first is the one that the store on ZooKeeper had: ADR 18. */
    @ParameterizedTest
    @CsvSource({"sync", "from reply", "counts on"})
    void eachMistakeAboutTimeIsFound(String flaw) {
        finds("OneHolder", flaw, SESSIONS.formatted(1, 2));
    }

    /** So the margin must cover by how much the store's count may begin earlier: ADR 10. */
    @Test
    void aMarginThatIsSmallerThanTheLagOfTheStoreIsTooSmall() {
        finds("OneHolder", "", SESSIONS.formatted(0, 2));
    }

    private void finds(String invariant, String flaw, String settings) {
        String flaws = flaw.isEmpty() ? "" : '"' + flaw + '"';
        checker().findsViolationOf(invariant, COMMON.formatted(invariant, flaws) + settings);
    }

    private ModelChecker checker() {
        return new ModelChecker(SequencedQueueModelTest.class, "SequencedQueue", folder);
    }
}
