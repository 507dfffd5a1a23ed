package dev.holdfast.cli.inspect;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ResourceState;

/** Finds from a resource's limit which kind of lock it is used as. */
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
