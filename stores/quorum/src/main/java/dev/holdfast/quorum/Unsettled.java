package dev.holdfast.quorum;

import dev.holdfast.spi.ClaimId;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The claims of which an acquisition or the release of a failed attempt may still be on its way to one node. A claim is asked
 * for again with the same id, and such a release would end the grant of a later attempt, so the node does not vote for the
 * claim until it has answered them. Thread-safe.
 */
final class Unsettled {

    private final Map<ClaimId, Integer> calls = new ConcurrentHashMap<>();

    /** Notes a call that is about to be sent. */
    void begin(ClaimId id) {
        calls.merge(id, 1, Integer::sum);
    }

    /** Notes that the call has been answered, or will never be sent again. */
    void end(ClaimId id) {
        calls.computeIfPresent(id, (same, count) -> count == 1 ? null : count - 1);
    }

    boolean contains(ClaimId id) {
        return calls.containsKey(id);
    }
}
