package dev.holdfast.internal.election;

import dev.holdfast.election.Candidate;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.ResourceState;
import java.util.List;
import java.util.stream.Stream;

/**
 * What a candidate says of itself: id and payload, in the label of its claim's owner, with a space between them. The store keeps the
 * label without knowing what it means, and renewals replace it.
 */
final class CandidateLabel {

    private CandidateLabel() {}

    static String of(String id, String payload) {
        return payload.isEmpty() ? id : id + ' ' + payload;
    }

    /** All that lead or wait for a name, the leader first. */
    static List<Candidate> candidates(ResourceState state) {
        return Stream.concat(state.holders().stream(), state.waiters().stream())
                .map(CandidateLabel::candidate)
                .toList();
    }

    private static Candidate candidate(ResourceState.Entry entry) {
        OwnerInfo owner = entry.claim().owner();
        String label = owner.label().isEmpty() ? owner.client() : owner.label();
        int space = label.indexOf(' ');
        return new Candidate(
                space < 0 ? label : label.substring(0, space),
                space < 0 ? "" : label.substring(space + 1),
                // The first of its grant: that of a candidate is not passed on.
                entry.firstToken(),
                owner,
                entry.age());
    }
}
