package dev.holdfast.quorum;

import dev.holdfast.testkit.process.ModelChecker;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Two models of the quorum at three nodes, checked by TLC in every state that they can reach. {@code QuorumGrant.tla} says
 * who gets the lock and with which token, {@code QuorumLease.tla} how long a client may believe that it holds. What the
 * design does is right in both; each mistake that it avoids leads to a state that is wrong, and the checker must find that.
 */
class QuorumModelTest {

    /** More than can be under way. A mistake is found sooner with fewer. */
    private static final int ALL_MAIL = 12;

    private static final int LITTLE_MAIL = 4;

    private static final String COMMON = """
            SPECIFICATION Spec
            SYMMETRY Same
            INVARIANTS %s
            CONSTANTS
              Nodes = {n1, n2, n3}
              None = None
            """;

    private static final String GRANT = """
              Claims = {c1, c2}
              Flaw = "%s"
              Counters = {%s}
              Attempts = %d
              Mail = %d
            CONSTRAINT Bounded
            """;

    private static final String LEASE = """
              Claims = {%s}
              Flaws = {%s}
              Lease = 2
              Held = TRUE
              Restarts = %d
              Breaks = %d
              Requests = %d
            """;

    @TempDir
    Path folder;

    @Test
    void oneHoldsAtATimeAndTokensGrow() {
        proves("OneHolder TokensGrow Undone", grant("none", "10, 3, 1", 2, ALL_MAIL));
    }

    /** The first majority grants with the counters 11 and 4, and the next one with 5 and 2. */
    @Test
    void withoutWriteBackALaterTokenIsSmaller() {
        finds("TokensGrow", grant("no write-back", "10, 3, 1", 2, LITTLE_MAIL));
    }

    @Test
    void theReleaseOfAnEarlierAttemptEndsTheGrantOfALaterOneThatHasTheSameId() {
        finds("OneHolder", grant("reuse", "0", 3, LITTLE_MAIL));
    }

    @Test
    void aRequestThatComesAfterAReleaseWithoutATombstoneIsInTheWay() {
        finds("Undone", grant("no tombstone", "0", 2, LITTLE_MAIL));
    }

    @Test
    void leasesThatAreRenewedExcludeEachOtherAlsoIfANodeLosesItsData() {
        proves("OneHolder Newest", lease("c1, c2", "", 1, 0, 1));
    }

    @Test
    void aNodeThatCountsAtOnceAfterItHasLostItsDataMakesTwoHolders() {
        finds("OneHolder", lease("c1, c2", "\"no age\"", 1, 0, 0));
    }

    @Test
    void anAnswerThatCountsAlthoughTheMajorityIsLostRevivesAnOutdatedClaim() {
        finds("Newest", lease("c1, c2", "\"late answer\"", 0, 0, 1));
    }

    @Test
    void aClaimThatWasBrokenAtAMajorityStaysBroken() {
        proves("StaysBroken", lease("c1", "", 0, 1, 2));
    }

    @Test
    void aBreakIsUndoneIfANodeThatSaysGoneIsGivenTheClaim() {
        finds("StaysBroken", lease("c1", "\"plain break\", \"give to gone\"", 0, 1, 2));
    }

    /** A vote may end before its node has said that it is gone, while the vote of another node seems to last. */
    @Test
    void aBreakWithoutTombstonesIsUndoneAlsoIfNoNodeThatSaysGoneIsGivenTheClaim() {
        finds("StaysBroken", lease("c1", "\"plain break\"", 0, 1, 2));
    }

    private static Model grant(String flaw, String counters, int attempts, int mail) {
        return new Model("QuorumGrant", GRANT.formatted(flaw, counters, attempts, mail));
    }

    private static Model lease(String claims, String flaws, int restarts, int breaks, int requests) {
        return new Model("QuorumLease", LEASE.formatted(claims, flaws, restarts, breaks, requests));
    }

    private void proves(String invariants, Model model) {
        model.checker(folder).proves(COMMON.formatted(invariants) + model.settings());
    }

    private void finds(String invariant, Model model) {
        model.checker(folder).findsViolationOf(invariant, COMMON.formatted(invariant) + model.settings());
    }

    /** The name of a module, and its constants. */
    private record Model(String name, String settings) {

        ModelChecker checker(Path folder) {
            return new ModelChecker(QuorumModelTest.class, name, folder);
        }
    }
}
