package dev.holdfast.spring.actuate;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ResourceState;
import java.util.List;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * A lock, as the store knew it when it was asked.
 *
 * @param name its name
 * @param kind {@code mutex}, {@code read-write lock}, {@code semaphore} or {@code wait set}
 * @param permits how many permits a semaphore has; 1 for a mutex, 0 for the others
 * @param holders those who hold it, oldest first
 * @param waiters how many claims wait; threads of one process that wait for the same lock are one claim
 * @param queue the first {@value #SHOWN_WAITERS} of those who wait, the next one first; empty in stores without a queue
 */
public record LockDescriptor(
        String name, String kind, int permits, List<ClaimDescriptor> holders, int waiters, List<ClaimDescriptor> queue)
        implements OperationResponseBody {

    /** How many of those who wait are shown. */
    public static final int SHOWN_WAITERS = 10;

    static LockDescriptor of(ResourceState state) {
        return new LockDescriptor(
                state.name().value(),
                kind(state.limit()),
                state.limit() == Claim.ALL ? 0 : state.limit(),
                state.holders().stream().map(ClaimDescriptor::of).toList(),
                state.waiters().size(),
                state.waiters().stream()
                        .limit(SHOWN_WAITERS)
                        .map(ClaimDescriptor::of)
                        .toList());
    }

    private static String kind(int limit) {
        return switch (limit) {
            case 0 -> "wait set";
            case 1 -> "mutex";
            case Claim.ALL -> "read-write lock";
            default -> "semaphore";
        };
    }
}
