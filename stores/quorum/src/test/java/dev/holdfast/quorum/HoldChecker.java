package dev.holdfast.quorum;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Knows who holds what in a simulation, and says at once when two hold what one may, or a token does not grow. An attempt is
 * known by the owner of its claims, which all of its requests carry, whatever id they have at the nodes.
 */
final class HoldChecker {

    private final SimulatedTime time;
    private final int majority;
    private final Map<LockName, List<Hold>> holds = new HashMap<>();
    private final Map<LockName, Long> largest = new HashMap<>();
    private final Map<LockName, Long> largestExclusive = new HashMap<>();
    /** The attempts that an operator has begun to break, and since when. */
    private final Map<String, Long> breaking = new HashMap<>();
    /** By break, the nodes at which it ended the grant. */
    private final Map<String, Set<Integer>> brokenAt = new HashMap<>();
    /** The attempts that were broken at a majority, and since when. */
    private final Map<String, Long> broken = new HashMap<>();

    private int breaks;

    HoldChecker(SimulatedTime time, int majority) {
        this.time = time;
        this.majority = majority;
    }

    /** What one claim holds, as its owner knows. */
    static final class Hold {

        private final String attempt;
        private final LockName name;
        private final int limit;
        private final long token;
        private int permits;
        private long deadline;
        private boolean over;

        Hold(Claim claim, long token, long deadline) {
            this.attempt = attemptOf(claim);
            this.name = claim.name();
            this.limit = claim.limit();
            this.permits = claim.permits();
            this.token = token;
            this.deadline = deadline;
        }

        boolean isOver() {
            return over;
        }

        long deadline() {
            return deadline;
        }

        void ends() {
            over = true;
        }

        void shrinks() {
            permits = 1;
        }

        @Override
        public String toString() {
            return attempt + " holds " + permits + " of " + name + " with token " + token + " until "
                    + deadline / 1_000_000 + " ms";
        }
    }

    /** The attempt's name, for the owner of the claim. */
    static OwnerInfo owner(ClaimId id, int attempt) {
        return OwnerInfo.of(id + "/" + attempt);
    }

    private static String attemptOf(Claim claim) {
        String owner = claim.owner().client();
        int hash = owner.indexOf('#');
        return hash < 0 ? owner : owner.substring(0, hash);
    }

    /** The id that the client knows the claim by. */
    static ClaimId idOf(Claim claim) {
        String attempt = attemptOf(claim);
        int slash = attempt.indexOf('/');
        return slash < 0 ? claim.id() : ClaimId.parse(attempt.substring(0, slash));
    }

    void begins(Hold hold) {
        if (!isValid(hold)) {
            return;
        }
        holds.computeIfAbsent(hold.name, unused -> new ArrayList<>()).add(hold);
        checkWeight(hold.name);
        Map<LockName, Long> before = hold.permits == hold.limit ? largest : largestExclusive;
        if (before.getOrDefault(hold.name, 0L) >= hold.token) {
            time.fail(hold + ", but before it " + before.get(hold.name) + " was given");
        }
        largest.merge(hold.name, hold.token, Math::max);
        if (hold.permits == hold.limit) {
            largestExclusive.merge(hold.name, hold.token, Math::max);
        }
    }

    /** A renewal, or a repeated acquisition, that was sent at this time says that the claim is held. */
    void holdsStill(Hold hold, long sent, long deadline) {
        Long since = broken.get(hold.attempt);
        if (since != null && sent > since) {
            time.fail(hold + " after it was broken at a majority");
        }
        if (isValid(hold)) {
            hold.deadline = Math.max(hold.deadline, deadline);
            checkWeight(hold.name);
        } else if (!hold.over && !breaking.containsKey(hold.attempt)) {
            Map<LockName, Long> later = hold.permits == hold.limit ? largest : largestExclusive;
            if (later.getOrDefault(hold.name, 0L) > hold.token) {
                time.fail(hold + " was revived after others had held");
            }
        }
    }

    private boolean isValid(Hold hold) {
        return !hold.over && time.now() < hold.deadline && !breaking.containsKey(hold.attempt);
    }

    private void checkWeight(LockName name) {
        List<Hold> present = holds.get(name);
        present.removeIf(hold -> !isValid(hold));
        long weight = present.stream().mapToLong(hold -> hold.permits).sum();
        if (present.stream().anyMatch(hold -> weight > hold.limit)) {
            time.fail("more is held than there is: " + present);
        }
    }

    /** An operator is about to break a claim that was seen. Returns it as it must be released. */
    Claim breaks(Claim seen) {
        breaking.putIfAbsent(attemptOf(seen), time.now());
        return seen.withOwner(OwnerInfo.of(attemptOf(seen) + "#" + breaks++));
    }

    void releasedAtNode(Claim claim, int node) {
        String owner = claim.owner().client();
        if (owner.indexOf('#') > 0) {
            Set<Integer> nodes = brokenAt.computeIfAbsent(owner, unused -> new HashSet<>());
            nodes.add(node);
            if (nodes.size() >= majority) {
                broken.putIfAbsent(attemptOf(claim), time.now());
            }
        }
    }

    void grantedAtNode(Claim claim, int node) {
        String attempt = attemptOf(claim);
        brokenAt.forEach((owner, nodes) -> {
            if (owner.startsWith(attempt + "#")) {
                nodes.remove(node);
            }
        });
    }

    int broken() {
        return broken.size();
    }
}
