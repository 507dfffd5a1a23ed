package dev.holdfast.election;

import dev.holdfast.spi.OwnerInfo;
import java.time.Duration;

/**
 * One who leads or wants to, as the store showed him. Others than Holdfast's candidates may take part: for a holder of the lock of
 * this name, {@code id} is the label of his client, and for a program with another library the text that it has left.
 *
 * @param id by which people know the candidate; not unique by itself
 * @param payload what the candidate has proclaimed, or empty
 * @param token the token of the leader's term; 0 for one who waits
 * @param owner the client, its host and its process
 * @param age for how long he has led or waited
 */
public record Candidate(String id, String payload, long token, OwnerInfo owner, Duration age) {

    /** Whether this is the leader. */
    public boolean isLeader() {
        return token != 0;
    }
}
