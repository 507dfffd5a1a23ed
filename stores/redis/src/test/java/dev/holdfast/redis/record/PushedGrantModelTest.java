package dev.holdfast.redis.record;

import dev.holdfast.testkit.process.ModelChecker;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The model {@code PushedGrant.tla} of how a release hands a lock to the next waiter, checked by TLC in every state
 * that it can reach. The way in which the scripts do it has one holder at most; two other ways, which they had before, have
 * two, and the checker must find that.
 */
class PushedGrantModelTest {

    private static final String SETTINGS = """
            SPECIFICATION Spec
            CONSTANTS
              Claims = {c1, c2, c3}
              Servers = {s1, s2}
              None = None
              Rule = "%s"
              Life = 2
              End = 3
            SYMMETRY Same
            CONSTRAINT Bounded
            INVARIANTS %s
            """;

    @TempDir
    Path folder;

    @Test
    void whoAsksForSubscribersAndWritesFirstHasOneHolder() {
        checker().proves(SETTINGS.formatted("ask", "OneHolder Kept"));
    }

    @Test
    void whoPublishesAndCountsHasTwoHolders() {
        checker().findsViolationOf("OneHolder", SETTINGS.formatted("count", "OneHolder"));
    }

    @Test
    void whoPublishesBeforeWritingGivesAwayWhatTheStoreDoesNotKeep() {
        checker().findsViolationOf("Kept", SETTINGS.formatted("publish first", "Kept"));
    }

    private ModelChecker checker() {
        return new ModelChecker(PushedGrantModelTest.class, "PushedGrant", folder);
    }
}
