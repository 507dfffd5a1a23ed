package dev.holdfast.spi;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The answer of one node of a quorum to {@link LockStore#tryAcquireAsNode}.
 *
 * <p>A store that has lost data may grant a lock that is still held. The quorum finds out by the age: it does not count
 * the grant of a node that has kept its data for less than the longest lease.
 *
 * @param attempt the outcome
 * @param incarnation a number that changes whenever the store may have lost data: at each start of its process, at a
 *     fail-over, and when all its data are deleted
 * @param age how long the store has kept its data without such an event, by its own clock
 * @param server is the same for all stores in one server, as for its databases, whatever the names by which they are reached,
 *     and another one for each other server: two votes of one server are one. Null if it is not known
 */
public record NodeAttempt(
        Attempt attempt,
        long incarnation,
        Duration age,
        @Nullable String server) {

    /** The answer of a store that does not know its server. */
    public NodeAttempt(Attempt attempt, long incarnation, Duration age) {
        this(attempt, incarnation, age, null);
    }

    /** How far a caller's counter may be from a store's wall clock before the store changes it. */
    public static final Duration CLOCK_TOLERANCE = Duration.ofSeconds(1);
}
