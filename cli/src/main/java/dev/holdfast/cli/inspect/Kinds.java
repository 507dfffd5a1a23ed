package dev.holdfast.cli.inspect;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ResourceState;

/** What kind of lock a resource is used as, which its limit tells. */
final class Kinds {

    private Kinds() {}

    static String of(ResourceState state) {
        return switch (state.limit()) {
            case 0 -> "wait set";
            case 1 -> "mutex";
            case Claim.ALL -> "read-write lock";
            default -> "semaphore of " + state.limit();
        };
    }

    /** How one claim uses it: {@code read}, {@code write}, {@code 2 permits}; nothing for a mutex. */
    static String use(Claim claim) {
        return switch (claim.limit()) {
            case 0, 1 -> "";
            case Claim.ALL -> claim.isExclusive() ? "write" : "read";
            default -> claim.permits() == 1 ? "1 permit" : claim.permits() + " permits";
        };
    }
}
