package dev.holdfast.spring.actuate;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One who holds a lock or waits for it.
 *
 * @param owner who, in one line for people
 * @param token the smallest fencing token of the grant, as a text because most readers of JSON cut numbers to 53 bits; null for one
 *     who waits. Holders that have taken the lock over inside of their process have up to 1,023 more
 * @param use {@code read} or {@code write} for a read-write lock, {@code 2 permits} for a semaphore, else null
 * @param client the id of the client
 * @param host the host, or empty
 * @param pid the process on that host, or 0
 * @param thread the thread, or empty
 * @param label what {@code holdfast.label} says, which is the application's name unless it is set
 * @param since how long it has held or waited
 * @param remaining how long the grant, or the place in the queue, still lasts if it is not renewed
 */
public record ClaimDescriptor(
        String owner,
        @Nullable String token,
        @Nullable String use,
        String client,
        String host,
        long pid,
        String thread,
        String label,
        Duration since,
        Duration remaining) {

    static ClaimDescriptor of(ResourceState.Entry entry) {
        OwnerInfo owner = entry.claim().owner();
        return new ClaimDescriptor(
                owner.toString(),
                token(entry),
                use(entry.claim()),
                owner.client(),
                owner.host(),
                owner.pid(),
                owner.thread(),
                owner.label(),
                entry.age(),
                entry.remaining());
    }

    static @Nullable String token(ResourceState.Entry entry) {
        return entry.counter() == 0 ? null : Long.toString(entry.firstToken());
    }

    private static @Nullable String use(Claim claim) {
        return switch (claim.limit()) {
            case 0, 1 -> null;
            case Claim.ALL -> claim.isExclusive() ? "write" : "read";
            default -> claim.permits() == 1 ? "1 permit" : claim.permits() + " permits";
        };
    }
}
